"""Errors for NUMBA_* environment variables that numba or LLVM cannot use."""

import contextlib
import os
import re
import warnings

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


def check_features(environment=os.environ):
    """Raise ParameterError for NUMBA_CPU_FEATURES of a wrong form; LLVM reports and ignores unknown names itself."""
    features = environment.get("NUMBA_CPU_FEATURES", "")
    if not FEATURES.fullmatch(features):
        raise _parameter_error("NUMBA_CPU_FEATURES", features, "write features as +name or -name, with commas")


def _parameter_error(name, value, reason):
    return ParameterError(f"{name}={value!r}: {reason}. Correct it, or unset it.")
