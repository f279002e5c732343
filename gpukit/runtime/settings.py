"""numba's variables of the environment (NUMBA_*): values that it cannot use are refused in one line."""

import contextlib
import os
import re
import tempfile
import warnings

from llvmlite import binding

from gpukit.errors import ParameterError

UNPARSED = re.compile(r"Environment variable '(NUMBA_\w+)' is defined but its associated value '(.*)' could", re.DOTALL)
FEATURES = re.compile(r"([+-][\w.-]+(,[+-][\w.-]+)*)?")  # LLVM ends the process for others
STANDARD_ERROR = 2


@contextlib.contextmanager
def parsed():
    """Raise ParameterError for a variable that numba, imported within, warns about because it cannot parse it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Environment variable 'NUMBA_", RuntimeWarning)
        try:
            yield
        except RuntimeWarning as warning:
            found = UNPARSED.match(str(warning))
            if not found:
                raise
            raise _refusal(found[1], found[2], "numba cannot use it") from None


def check_settings(environment=os.environ):
    """Raise ParameterError for a processor that LLVM does not know."""
    name, features = (environment.get(f"NUMBA_CPU_{what}", "") for what in ("NAME", "FEATURES"))
    if not FEATURES.fullmatch(features):
        raise _refusal("NUMBA_CPU_FEATURES", features, "features are written +name or -name, with commas between")
    if name not in ("", "host", "generic") and _complaint(name, ""):
        raise _refusal("NUMBA_CPU_NAME", name, "LLVM knows no such processor")
    if features and _complaint("generic", features):
        raise _refusal("NUMBA_CPU_FEATURES", features, "LLVM does not know all of them")


def _complaint(processor, features):
    """Return the complaint of LLVM about a processor and its features, b'' if it has none."""
    with tempfile.TemporaryFile() as file:
        kept = os.dup(STANDARD_ERROR)
        os.dup2(file.fileno(), STANDARD_ERROR)
        try:
            binding.initialize_native_target()
            binding.initialize_native_asmprinter()
            binding.Target.from_triple(binding.get_process_triple()).create_target_machine(
                cpu=processor, features=features
            )
        finally:
            os.dup2(kept, STANDARD_ERROR)
            os.close(kept)
        file.seek(0)
        return file.read()


def _refusal(name, value, why):
    return ParameterError(f"{name}={value!r}: {why}. Correct it, or unset it.")
