"""Exceptions of gpukit: every message states the problem, the value and the remedy.

The command line prints a `GpukitError` as one line on stderr and exits with its `exit_code`. It catches nothing else.
"""

HEAD, TAIL = 500, 300  # characters kept of a longer message: the place, and the remedy


class GpukitError(Exception):
    """Base class of the exceptions of gpukit.

    exit_code: 1 if the computation failed, 2 if the request or its data are invalid. The message is one printable line,
    see one_line.
    """

    exit_code = 1

    def __init__(self, message=""):
        super().__init__(one_line(str(message)))


class ParameterError(GpukitError, ValueError):
    """A parameter has an invalid value, such as factors=0 or a negative rate."""

    exit_code = 2


class DataError(GpukitError, ValueError):
    """The input is missing, malformed, empty or not finite."""

    exit_code = 2


class NoRowsError(DataError):
    """The input is valid but has no rows, as a daily export may."""


class ModelError(GpukitError, ValueError):
    """A file is not a gpukit model, is damaged, or has an unsupported version."""

    exit_code = 2


class DeviceError(GpukitError, RuntimeError):
    """The requested device does not exist or is too small."""

    exit_code = 2


class DeviceMemoryError(DeviceError, MemoryError):
    """The device has less free memory than is needed; the message names both sizes."""

    exit_code = 1


class NotFittedError(GpukitError, ValueError, AttributeError):
    """A fitted attribute was read before fit."""


def one_line(text):
    """Return text as one line: unprintable characters are escaped, and a long text loses its middle."""
    line = "".join(letter if letter.isprintable() else _escape(letter) for letter in text)
    return line if len(line) <= HEAD + TAIL else f"{line[:HEAD]} ... {line[-TAIL:]}"


def _escape(letter):
    """Return a line feed as a blank, another character as Python's escape."""
    return " " if letter == "\n" else repr(letter)[1:-1]
