"""Errors for NUMBA_* environment variables that numba or LLVM cannot use."""

import contextlib
import os
import re
import tempfile
import warnings

from llvmlite import binding

from gpukit.errors import ParameterError

UNPARSED = re.compile(r"Environment variable '(NUMBA_\w+)' is defined but its associated value '(.*)' could", re.DOTALL)
FEATURES = re.compile(r"([+-][\w.-]+(,[+-][\w.-]+)*)?")  # LLVM ends the process for other text


@contextlib.contextmanager
def refuse_unparsed():
    """Raise ParameterError if numba, imported within the context, cannot parse a variable."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Environment variable 'NUMBA_", RuntimeWarning)
        try:
            yield
        except RuntimeWarning as warning:
            match = UNPARSED.match(str(warning))
            if not match:
                raise
            raise _parameter_error(match[1], match[2], "numba cannot use it") from None


def check_settings(environment=os.environ):
    """Raise ParameterError if LLVM does not know the processor or features of NUMBA_CPU_NAME and NUMBA_CPU_FEATURES."""
    name, features = (environment.get(f"NUMBA_CPU_{key}", "") for key in ("NAME", "FEATURES"))
    if not FEATURES.fullmatch(features):
        raise _parameter_error("NUMBA_CPU_FEATURES", features, "write features as +name or -name, with commas")
    if name not in ("", "host", "generic") and _llvm_message(name, ""):
        raise _parameter_error("NUMBA_CPU_NAME", name, "LLVM knows no such processor")
    if features and _llvm_message("generic", features):
        raise _parameter_error("NUMBA_CPU_FEATURES", features, "LLVM does not know all of them")


def _llvm_message(processor, features):
    """Return the message of LLVM about a processor and its features, b'' if there is none."""
    with tempfile.TemporaryFile() as file:
        standard_error = 2
        saved = os.dup(standard_error)
        os.dup2(file.fileno(), standard_error)
        try:
            binding.initialize_native_target()
            binding.initialize_native_asmprinter()
            target = binding.Target.from_triple(binding.get_process_triple())
            target.create_target_machine(cpu=processor, features=features)
        finally:
            os.dup2(saved, standard_error)
            os.close(saved)
        file.seek(0)
        return file.read()


def _parameter_error(name, value, reason):
    return ParameterError(f"{name}={value!r}: {reason}. Correct it, or unset it.")
