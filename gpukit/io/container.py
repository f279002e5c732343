"""The container of gpukit's binary copies: named arrays as they lie in memory, which load at the disk's speed.

A file: 8 bytes of magic, the header's length as uint64, the header in JSON (version, further facts, for each array its
dtype, shape and offset; the file's whole size), then the raw arrays, each at a multiple of 64 bytes, little endian.
"""

import json
from math import prod
from pathlib import Path

import numpy as np

from gpukit.errors import DataError, ParameterError
from gpukit.persist import check_writable

VERSION = 1
ALIGN = 64
AGAIN = "Write it again with gpukit convert."


def write_arrays(file, magic, arrays, **facts):
    """Write {name: array} (numbers or fixed-width strings) and JSON-able facts to an open binary file."""
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    file.write(_layout(magic, arrays, facts))
    for array in arrays.values():
        file.write(b"\0" * (-file.tell() % ALIGN))
        array.astype(array.dtype.newbyteorder("<"), copy=False).tofile(file)


def _layout(magic, arrays, facts):
    """Magic, length and JSON header, padded to a fixed length because the offsets in it depend on its own."""
    room = ALIGN * (16 + sum(len(name) for name in arrays))
    at, entries = room, {}
    for name, array in arrays.items():
        at += -at % ALIGN
        entries[name] = {"dtype": array.dtype.newbyteorder("<").str, "shape": array.shape, "offset": at}
        at += array.nbytes
    header = json.dumps({"version": VERSION, **facts, "size": at, "arrays": entries}).encode().ljust(room - 16)
    return magic + len(header).to_bytes(8, "little") + header


def check_output(path, suffixes):
    """The suffix of a path that can be written; ParameterError for one not among suffixes, DataError when it cannot."""
    suffix = Path(path).suffix.lower()
    if suffix not in suffixes:
        raise ParameterError(f"The output's name must end in {', '.join(suffixes)}; got {str(path)!r}.")
    check_writable(path)
    return suffix


def read_header(source, magic, what):
    """The checked header (dict) of a container in an open Source; what names its kind in the DataErrors for another or
    a damaged file."""
    path, file = source.name, source.seekable()
    start = file.read(16)
    if len(start) < 16 or start[:8] != magic:
        raise DataError(f"{path} is not a binary copy of {what}. {AGAIN}")
    length = int.from_bytes(start[8:], "little")
    raw = file.read(min(length, 1 << 20))
    try:
        header = json.loads(raw)
        version = header["version"]
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} is cut short or damaged: its header cannot be read. {AGAIN}") from error
    if version != VERSION:
        raise DataError(f"{path} has format version {version}; this gpukit reads version {VERSION}. {AGAIN}")
    size = source.size
    if size != header["size"]:
        raise DataError(
            f"{path} is cut short or damaged: {size:,} bytes where its header says {header['size']:,}. {AGAIN}"
        )
    return header


def read_arrays(source, header, mmap=False, leave=()):
    """{name: array} of a container with that header; mmap=True leaves arrays on disk, read-only, until touched.

    leave: names of arrays that are not wanted.
    """
    file = source.seekable()
    return {name: _array(file, entry, mmap) for name, entry in header["arrays"].items() if name not in leave}


def _array(file, entry, mmap):
    dtype, shape, offset = np.dtype(entry["dtype"]), tuple(entry["shape"]), entry["offset"]
    if mmap and prod(shape):
        return np.memmap(file, dtype, "r", offset, shape)
    file.seek(offset)
    return np.fromfile(file, dtype, prod(shape)).reshape(shape)
