"""The standard streams as a command may find them: closed, full, or with nobody who reads."""

import io
import os
import sys
import warnings

from gpukit.errors import GpukitError

NAMES = ("stdin", "stdout", "stderr")
# What a closed stream's number stands for: no file that is opened later may get it. Nothing can be read; what is
# written on stdout fails, as it should; what is written on stderr is gone.
PLACES = ((os.O_RDONLY, "r"), (os.O_RDONLY, "w"), (os.O_WRONLY, "w"))


class Output(io.FileIO):
    """Standard output; GpukitError where it cannot be written. Who has seen enough of a pipe is not an error."""

    def write(self, content):
        """See io.FileIO."""
        try:
            return super().write(content)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise GpukitError(f"cannot write on standard output: {error.strerror}.") from error


def printable(text):
    """Return text with what does not print escaped as Python does: controls, line ends, direction marks, surrogates."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def fill():
    """Give closed streams a place, and stdout its errors."""
    for number, (name, (flags, mode)) in enumerate(zip(NAMES, PLACES, strict=True)):
        if getattr(sys, name) is None:
            os.dup2(os.open(os.devnull, flags), number)
            setattr(sys, name, open(number, mode, closefd=False))
    text = sys.stdout
    raw = Output(text.fileno(), "w", closefd=False)
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(raw), text.encoding, "backslashreplace", "\n", text.line_buffering, text.write_through
    )


def shut_output():
    """Nothing goes to standard output any more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def word_warnings():
    """From now on a UserWarning is a line for people, without the place in the code that Python adds to it."""
    usual = warnings.formatwarning

    def worded(message, category, *place, **line):
        told = printable(" ".join(str(message).split("\n")))
        return f"Warning: {told}\n" if category is UserWarning else usual(message, category, *place, **line)

    warnings.formatwarning = worded


def leave():
    """What could not be written is dropped: Python would complain of it when it ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, GpukitError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
