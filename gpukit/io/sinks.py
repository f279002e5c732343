"""Outputs: a file written atomically, a pipe, or standard output ('-')."""

import codecs
import contextlib
import os
import sys

from gpukit.errors import DataError, ParameterError
from gpukit.io.records import SHOWN

STANDARD_OUTPUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


def is_standard(path):
    """Return True for the names of standard output."""
    return str(path) in STANDARD_OUTPUT


def is_stream(path):
    """Return True for standard output, a pipe or a device.

    Such names need no suffix for their format.
    """
    return is_standard(path) or (os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path))


def refuse_dash(path, what):
    """Raise ParameterError for '-' if the output is not text."""
    if str(path) == "-":
        raise ParameterError(f"{what} - : this is no text for standard output. Name a file (one called - is ./-).")


@contextlib.contextmanager
def open_sink(path):
    """Open a binary output: a file (atomic), a pipe, or standard output.

    Raises DataError if the path is not writable.
    """
    if is_standard(path):
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    from gpukit.persist import atomic_open

    with atomic_open(path) as file:
        yield file


@contextlib.contextmanager
def open_text_sink(path):
    """Open an output for UTF-8 text; line ends are kept.

    Raises DataError also for text that UTF-8 cannot encode.
    """
    with open_sink(path) as file:
        try:
            yield codecs.getwriter("utf-8")(file)
        except UnicodeEncodeError as error:
            raise DataError(f"{path}: {error.object[:SHOWN]!r} has a surrogate, which UTF-8 does not hold.") from None
