"""Standard streams that are closed, full or without a reader."""

import io
import os
import sys
import warnings

from gpukit.errors import GpukitError

NAMES = ("stdin", "stdout", "stderr")
# A closed stream's number is reopened so that no later file gets it: reading returns nothing, writing to stdout
# fails, and writing to stderr is discarded.
PLACES = ((os.O_RDONLY, "r"), (os.O_RDONLY, "w"), (os.O_WRONLY, "w"))


class Output(io.FileIO):
    """Standard output that raises GpukitError on write errors.

    A closed pipe is not an error.
    """

    def write(self, content):
        """See io.FileIO."""
        try:
            return super().write(content)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise GpukitError(f"cannot write on standard output: {error.strerror}.") from error


def printable(text):
    """Return text with unprintable characters escaped as in Python."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def fill():
    """Open closed streams on the null device, and let stdout raise GpukitError."""
    for number, (name, (flags, mode)) in enumerate(zip(NAMES, PLACES, strict=True)):
        if getattr(sys, name) is None:
            os.dup2(os.open(os.devnull, flags), number)
            setattr(sys, name, open(number, mode, closefd=False))
    text = sys.stdout
    raw = Output(text.fileno(), "w", closefd=False)
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(raw), text.encoding, "backslashreplace", "\n", text.line_buffering, text.write_through
    )


def discard(*numbers):
    """Discard what is written on streams from now on; 1: standard output, 2: standard error."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in numbers:
        os.dup2(nowhere, number)
    os.close(nowhere)


def word_warnings():
    """Print each UserWarning in one line, without its place in the code."""
    usual = warnings.formatwarning

    def worded(message, category, *place, **options):
        text = printable(" ".join(str(message).split("\n")))
        return f"Warning: {text}\n" if category is UserWarning else usual(message, category, *place, **options)

    warnings.formatwarning = worded


def leave():
    """Drop unwritten output, because Python would report it at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, GpukitError):
            discard(stream.fileno())
