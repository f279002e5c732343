"""One family of errors, each also of the usual built-in class, each with its exit code."""

import inspect
import pickle

import pytest

from gpukit import errors

FAMILY = [c for _, c in inspect.getmembers(errors, inspect.isclass)]
FORGED = "/data/a\x1b[2J.csv, line 7: 'x\r\u202ey' is no number.\nCorrect it."


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


@pytest.mark.parametrize("error", FAMILY, ids=lambda c: c.__name__)
def test_a_message_is_one_readable_line_whatever_it_quotes(error):
    assert str(error(FORGED)) == "/data/a\\x1b[2J.csv, line 7: 'x\\r\\u202ey' is no number. Correct it."
    assert str(pickle.loads(pickle.dumps(error(FORGED)))) == str(error(FORGED))


def test_a_long_message_keeps_where_and_what_to_do():
    message = str(errors.DataError(f"a.csv, line 7: {'9' * 5000!r} is too large. Correct the line."))
    assert (
        len(message) < 1000
        and message.startswith("a.csv, line 7: '99")
        and message.endswith("99' is too large. Correct the line.")
    )
    assert str(errors.DataError()) == ""
