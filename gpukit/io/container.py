"""Binary copies of tables: array files that load at disk speed."""

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
    """Write arrays and JSON-serializable facts to an open binary file.

    arrays: {name: array} of numbers or fixed-width strings.
    """
    arrayfile.write(file, kind.magic, facts, arrays)


def read_arrays(source, kind, mmap=False, leave=(), bounds=None):
    """Return (facts, {name: array}) of a copy in an open Source.

    Arguments as in arrayfile.read. Raises DataError for a copy that was changed or damaged.
    """
    return arrayfile.read_open(source.seekable(), source.name, kind, mmap, leave, bounds)


def check_copy(path, suffixes):
    """Return the suffix of an output path.

    Raises ParameterError for a suffix not in `suffixes`, DataError if the path is not writable.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in suffixes:
        raise ParameterError(f"The output's name must end in {', '.join(suffixes)}; got {str(path)!r}.")
    check_writable(path)
    return suffix
