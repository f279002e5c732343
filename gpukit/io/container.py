"""The binary copies of tables: array files (gpukit/arrayfile.py) that load at the disk's speed."""

from pathlib import Path

from gpukit import arrayfile
from gpukit.errors import DataError, ParameterError
from gpukit.io.registry import FORMATS
from gpukit.persist import check_writable

AGAIN = "Write it again with gpukit convert, from the original."


def kind_of(name):
    """Return the arrayfile.Kind of a format in registry.FORMATS."""
    known = FORMATS[name]
    return arrayfile.Kind(known.sign, known.title, DataError, AGAIN)


def write_arrays(file, kind, arrays, **facts):
    """Write {name: array} (numbers or fixed-width strings) and JSON-able facts to an open binary file."""
    arrayfile.write(file, kind.magic, facts, arrays)


def read_arrays(source, kind, mmap=False, leave=(), bounds=None):
    """(facts, {name: array}) of a copy in an open Source; see arrayfile.read. Raises DataError for one that is not as
    it was written."""
    return arrayfile.read_open(source.seekable(), source.name, kind, mmap, leave, bounds)


def check_copy(path, suffixes):
    """The suffix of a path that can be written; ParameterError for one not among suffixes, DataError when it cannot."""
    suffix = Path(path).suffix.lower()
    if suffix not in suffixes:
        raise ParameterError(f"The output's name must end in {', '.join(suffixes)}; got {str(path)!r}.")
    check_writable(path)
    return suffix
