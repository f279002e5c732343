"""Notes of readers on merged or skipped rows, for a registered listener."""

import contextlib
import contextvars

listener = None  # function (file, text or "", facts), set by the command line
_is_muted = contextvars.ContextVar("muted", default=False)


def add(file, text, **facts):
    """Report a note of a reader.

    Parameters
    ----------
    file : str; the file's name
    text : str; one line for people, or "" where there is nothing to say
    facts : numbers for programs
    """
    if listener is not None and not _is_muted.get():
        listener(file, text, facts)


@contextlib.contextmanager
def mute():
    """Drop the notes of a file that is read a second time."""
    token = _is_muted.set(True)
    try:
        yield
    finally:
        _is_muted.reset(token)
