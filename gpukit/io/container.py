"""File formats, recognised by their first bytes, and binary copies of tables, which load at disk speed.

A package that reads files has a function per format, such as `ratings/read.READERS`.
"""

from pathlib import Path
from typing import NamedTuple

from gpukit import arrayfile, persist
from gpukit.errors import DataError, ParameterError
from gpukit.io import sinks
from gpukit.persist import check_writable

AGAIN = "Write it again with gpukit convert, from the original."


class Format(NamedTuple):
    """File format: first bytes, and title if gpukit writes it."""

    sign: bytes
    title: str = ""


FORMATS = {
    "model": Format(persist.KIND.magic, "a model or checkpoint"),
    "gkr": Format(b"GPUKITR1", "a binary copy of ratings (.gkr)"),
    "gkl": Format(b"GPUKITL1", "a binary copy of documents (.gkl)"),
    "basis": Format(b"GPUKITB1", "a basis of a graph"),
    "parquet": Format(b"PAR1"),
    "npy": Format(b"\x93NUMPY"),
}


def format_of(head):
    """Return the format name for first bytes, or 'text'."""
    return next((name for name, known in FORMATS.items() if head.startswith(known.sign)), "text")


def kind_of(name):
    """Return the arrayfile.Kind of a format in registry.FORMATS."""
    known = FORMATS[name]
    return arrayfile.Kind(known.sign, known.title, DataError, AGAIN)


def read_arrays(source, kind, mmap=False, leave=(), bounds=None):
    """Return (facts, {name: array}) of a copy in an open Source.

    Arguments as in arrayfile.read. Raises DataError for a copy that was changed or damaged.
    """
    return arrayfile.read_open(source.seekable(), source.name, kind, mmap, leave, bounds)


def check_copy(path, suffixes, text=None):
    """Return the suffix of an output path.

    text: the suffix for standard output and pipes without one; None: they need one. Raises ParameterError for a suffix
    not in `suffixes`, DataError if the path is not writable.
    """
    if text and sinks.is_stream(path) and Path(path).suffix not in suffixes:
        return text
    suffix = Path(path).suffix.lower()
    if suffix not in suffixes:
        raise ParameterError(f"The output's name must end in {', '.join(suffixes)}; got {str(path)!r}.")
    check_writable(path)
    return suffix
