"""One family of errors, each also of the built-in kind that people expect, each with its exit code."""

import inspect

import pytest

from gpukit import errors

FAMILY = [c for _, c in inspect.getmembers(errors, inspect.isclass)]


def test_all_are_of_the_family():
    assert len(FAMILY) >= 7 and all(issubclass(c, errors.GpukitError) for c in FAMILY)


@pytest.mark.parametrize("error", FAMILY, ids=lambda c: c.__name__)
def test_exit_code_and_docstring(error):
    assert error.exit_code in (1, 2) and error.__doc__


@pytest.mark.parametrize(
    "error, builtin, code",
    [
        (errors.ParameterError, ValueError, 2),
        (errors.DataError, ValueError, 2),
        (errors.ModelError, ValueError, 2),
        (errors.DeviceError, RuntimeError, 2),
        (errors.DeviceMemoryError, MemoryError, 1),
        (errors.NotFittedError, AttributeError, 1),
    ],
)
def test_kinds(error, builtin, code):
    assert issubclass(error, builtin) and error.exit_code == code
