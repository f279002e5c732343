"""Read .npz and .npy files of users.

The size in a .npy header must equal the size in the archive's list. Only members with wanted names are decompressed.
For the others only the name is compared with the name stored before the member's bytes.
"""

import contextlib
import lzma
import os
import struct
import tokenize
import zipfile
import zlib
from math import prod

import numpy as np

from gpukit import arrayfile
from gpukit.device.memory import require_host
from gpukit.errors import DataError, GpukitError
from gpukit.io import sources

END = struct.Struct("<4s4H2LH")  # the end of an archive, before its comment; the fifth is the count of members
DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, tokenize.TokenError, EOFError, OSError),
    *(ValueError, KeyError, NotImplementedError, RuntimeError, OverflowError, IndexError, SyntaxError, TypeError),
)


def read_npz(path, wanted):
    """Return ({name: array}, all names) of an .npz file.

    path: a path or an open Source. Only arrays with wanted names are read. Raises DataError for a damaged file, Python
    objects, or a declared size that the bytes do not have.
    """
    with sources.open_source(path) as source, _read_errors(source.name):
        archive, result = source.archive(), {}
        members = _members(source.name, archive)
        for name, info in members.items():
            with archive.open(info) as stream:  # compares the two stored copies of the name
                if name in wanted:
                    result[name] = _read(f"{source.name} ({name})", stream, info.file_size)
    return result, list(members)


def read_npy(path):
    """Return the array of a .npy file.

    path: a path or an open Source. Raises as read_npz does.
    """
    with sources.open_source(path) as source, _read_errors(source.name):
        return _read(source.name, source.seekable(), source.size)


def _members(path, archive):
    """Return {array name: ZipInfo}; DataError for a wrong count or duplicate names."""
    many = 0xFFFF  # marks a count stored elsewhere in the archive
    archive.fp.seek(-len(archive.comment) - END.size, os.SEEK_END)
    count = END.unpack(archive.fp.read(END.size))[4]
    if count not in (len(archive.infolist()), many):
        raise DataError(f"{path} is damaged: its end counts {count:,} members, its list {len(archive.infolist()):,}.")
    members = {}
    for info in archive.infolist():
        name = info.filename.removesuffix(".npy")
        if name in members:
            raise DataError(f"{path} has two arrays named {name!r}. Write it again.")
        members[name] = info
    return members


def _read(name, stream, size):
    """Return the array of a .npy stream of `size` bytes."""
    shape, dtype = _header(name, stream)
    needed, has = prod(shape) * dtype.itemsize, size - stream.tell()
    if needed != has:
        raise DataError(f"{name} is damaged or cut short: {dtype} of shape {shape} has {needed:,} bytes, not {has:,}.")
    require_host(needed, f"Reading {name}")
    stream.seek(0)
    array = np.lib.format.read_array(stream, allow_pickle=False)
    stream.read(1)  # at the end an archive compares checksums
    if not arrayfile.is_legible(array):
        raise DataError(f"{name} holds no {'text' if dtype.kind == 'U' else 'booleans'}: it is damaged.")
    return array


def _header(name, stream):
    """Return the (shape, dtype) that a .npy file declares."""
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    version = np.lib.format.read_magic(stream)
    if version not in readers:
        raise DataError(f"{name} is of version {version} of the .npy format, for arrays of records. Save plain arrays.")
    try:
        shape, _, dtype = readers[version](stream)
    except (MemoryError, RecursionError) as error:  # of Python's parser, for brackets in brackets
        raise DataError(f"{name} is damaged: its header cannot be parsed.") from error
    if dtype.hasobject:
        raise DataError(
            f"{name} holds Python objects, which would have to be unpickled, and a pickle can run anything. Save "
            "arrays of numbers."
        )
    if dtype.kind not in "biufcSUMm" or not dtype.itemsize or any(size < 0 for size in shape):
        raise DataError(f"{name} holds {dtype} of shape {shape}, not numbers or text.")
    return shape, dtype


@contextlib.contextmanager
def _read_errors(path):
    """Convert errors of reading a file to DataError."""
    try:
        yield
    except GpukitError:
        raise
    except DAMAGE as error:
        raise DataError(f"{path} is damaged or cut short ({str(error):.200}). Copy or write it again.") from error
