"""File formats, recognised by their first bytes.

A package that reads files has a function per format, such as `ratings/copies.READERS`.
"""

from typing import NamedTuple

from gpukit import persist


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
