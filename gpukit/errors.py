"""One family of errors; every message says what is wrong, the value, and what to do next.

The command line turns a `GpukitError` into one line on stderr and its `exit_code`; nothing else is caught there.
"""

HEAD, TAIL = 500, 300  # letters that are kept of a longer message: where it happened, and what to do


class GpukitError(Exception):
    """Base of all that gpukit raises on purpose. exit_code 1: the work failed; 2: the request or its data is wrong.

    The message is one readable line whatever it quotes: see one_line.
    """

    exit_code = 1

    def __init__(self, message=""):
        super().__init__(one_line(str(message)))


class ParameterError(GpukitError, ValueError):
    """A parameter has a value that cannot work (factors=0, a negative rate)."""

    exit_code = 2


class DataError(GpukitError, ValueError):
    """The input cannot be used: missing, malformed, empty, not finite."""

    exit_code = 2


class NoRowsError(DataError):
    """The input is sound and holds nothing, as a night's export may, where something is needed."""


class ModelError(GpukitError, ValueError):
    """A file is not a gpukit model, is damaged, or is from a version this one cannot read."""

    exit_code = 2


class DeviceError(GpukitError, RuntimeError):
    """The device asked for is not there, or cannot hold the work."""

    exit_code = 2


class DeviceMemoryError(DeviceError, MemoryError):
    """The device has less free memory than the work needs; the message names both sizes."""

    exit_code = 1


class NotFittedError(GpukitError, ValueError, AttributeError):
    """A fitted attribute was asked for before fit."""


def one_line(text):
    """text as one line: letters that do not print are escaped, what is very long is cut in its middle."""
    line = "".join(letter if letter.isprintable() else _escape(letter) for letter in text)
    return line if len(line) <= HEAD + TAIL else f"{line[:HEAD]} ... {line[-TAIL:]}"


def _escape(letter):
    """A line's end as a blank, any other letter as Python spells it."""
    return " " if letter == "\n" else repr(letter)[1:-1]
