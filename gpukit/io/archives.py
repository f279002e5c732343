"""numpy's own files, .npz and .npy, that people hand in: read without believing what they say of themselves.

A member's bytes are counted before any is unpacked: its .npy header must ask for exactly as many as the archive says
that it has, and no more than its packed bytes can hold. Only members with wanted names are unpacked, after the headers
of all of them were checked; of the others the name alone is compared with the one that stands before their bytes.
"""

import contextlib
import os
import struct
import tokenize
import zipfile
import zlib
from math import prod
from typing import NamedTuple

import numpy as np

from gpukit import arrayfile
from gpukit.device.memory import require_host
from gpukit.errors import DataError, GpukitError
from gpukit.io import sources

KINDS = {"biuf": "real numbers", "iu": "whole numbers", "iuU": "ids", "SU": "text"}  # of dtypes
DENSEST = 1040  # bytes that deflate makes of one, at most
AT_ONCE = 1 << 20
END = struct.Struct("<4s4H2LH")  # the end of an archive, before its comment; the fifth is the count of members
MANY = 0xFFFF  # a count that stands elsewhere
DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, tokenize.TokenError, EOFError, OSError, ValueError, KeyError),
    *(NotImplementedError, RuntimeError, OverflowError, IndexError, SyntaxError, TypeError),
)


class Header(NamedTuple):
    """Header of a .npy file: dtype and shape of its array."""

    shape: tuple
    in_columns: bool
    dtype: np.dtype

    @property
    def size(self):
        """Entries of the array."""
        return prod(self.shape)


def read_npz(path, wanted, check=None):
    """({name: array}, all names) of an .npz, a path or an open Source; only arrays with wanted names are read.

    check: called before any data is unpacked, with {name: Header, None for those not wanted} and a function that reads
    one small array by name; raises DataError for what is missing or does not fit. Raises DataError for what is damaged,
    holds Python objects, or says more of itself than its bytes can hold.
    """
    with sources.opened(path) as source, _told(source.name):
        archive, name = source.archive(), source.name
        members = _members(name, archive)
        for info in members.values():
            archive.open(info).close()  # which compares the two places that a name stands in
        titles = {one: f"{name} ({one})" for one in members if one in wanted}
        headers = {one: _declared(titles[one], archive, info) for one, info in members.items() if one in wanted}
        if check is not None:
            everything = dict.fromkeys(members) | headers
            check(everything, lambda one: _unpacked(titles[one], archive, members[one]))
        found = {one: _unpacked(titles[one], archive, members[one]) for one in headers}
    return found, list(members)


def check_header(path, headers, name, kinds, shape):
    """DataError unless the Header of a name, where there is one, has a dtype of these kinds and this shape (None: any
    size)."""
    header = headers.get(name)
    if header is None:
        return
    fits = len(header.shape) == len(shape) and all(size in (None, has) for size, has in zip(shape, header.shape))
    if not fits or header.dtype.kind not in kinds:
        wanted = ", ".join("n" if size is None else f"{size:,}" for size in shape)
        raise DataError(
            f"{path}: {name} holds {header.dtype} of shape {header.shape}, not {KINDS[kinds]} of shape "
            f"({wanted}{',' * (len(shape) == 1)})."
        )


def check_size(path, headers, name, most, of):
    """DataError when the array of a name, where there is one, has more entries than what it belongs to."""
    header = headers.get(name)
    if header is not None and header.size > most:
        raise DataError(f"{path}: {name} has {header.size:,} entries, more than there are {of}, {most:,}.")


def read_npy(path):
    """The array of a .npy file, a path or an open Source; raises as read_npz does."""
    with sources.opened(path) as source, _told(source.name):
        return _read(source.name, source.seekable(), source.size)


def _members(path, archive):
    """{name of an array: ZipInfo}; DataError where the archive's end counts others, or two have one name."""
    archive.fp.seek(-len(archive.comment) - END.size, os.SEEK_END)
    count = END.unpack(archive.fp.read(END.size))[4]
    if count not in (len(archive.infolist()), MANY):
        raise DataError(f"{path} is damaged: its end counts {count:,} members, its list {len(archive.infolist()):,}.")
    members = {}
    for info in archive.infolist():
        name = info.filename.removesuffix(".npy")
        if name in members:
            raise DataError(f"{path} has two arrays named {name!r}. Write it again.")
        members[name] = info
    return members


def _declared(name, archive, info):
    """The Header of a member, checked against the sizes that the archive says, and against the memory there is."""
    _check_packed(name, info)
    with archive.open(info) as stream:
        return _checked_header(name, stream, info.file_size)


def _unpacked(name, archive, info):
    """The array of a member."""
    with archive.open(info) as stream:
        return _read(name, stream, info.file_size)


def _check_packed(name, info):
    """DataError for a member packed otherwise than by numpy, or one that claims more than its bytes can hold."""
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise DataError(f"{name} is packed in another way than numpy packs. Write it again with numpy.savez.")
    if info.file_size > DENSEST * (info.compress_size + 1):
        raise DataError(f"{name} claims {info.file_size:,} bytes, which its {info.compress_size:,} packed cannot hold.")


def _read(name, stream, size):
    """The array in a stream of so many bytes, a .npy file."""
    shape, in_columns, dtype = _checked_header(name, stream, size)
    needed = prod(shape) * dtype.itemsize
    raw, at = np.empty(needed, np.uint8), 0
    while at < needed:
        piece = stream.read(min(AT_ONCE, needed - at))
        if not piece:
            raise DataError(f"{name} is cut short: {at:,} bytes of {needed:,}. Copy or write it again.")
        raw[at : at + len(piece)] = np.frombuffer(piece, np.uint8)
        at += len(piece)
    stream.read(1)  # at the end an archive compares checksums
    array = raw.view(dtype).reshape(shape, order="F" if in_columns else "C")
    if not arrayfile.is_legible(array):
        raise DataError(f"{name} holds no {'text' if dtype.kind == 'U' else 'booleans'}: it is damaged.")
    return array


def _checked_header(name, stream, size):
    """The Header at the start of a stream of so many bytes; DataError unless the data behind it has its size."""
    header = _header(name, stream)
    needed, has = header.size * header.dtype.itemsize, size - stream.tell()
    if needed != has:
        raise DataError(
            f"{name} is damaged or cut short: {header.dtype} of shape {header.shape} has {needed:,} bytes, not {has:,}."
        )
    require_host(needed, f"Reading {name}")
    return header


def _header(name, stream):
    """The Header that a .npy file declares."""
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    version = np.lib.format.read_magic(stream)
    if version not in readers:
        raise DataError(f"{name} is of version {version} of the .npy format, for arrays of records. Save plain arrays.")
    try:
        shape, in_columns, dtype = readers[version](stream)
    except (MemoryError, RecursionError) as error:  # of Python's parser, for brackets in brackets
        raise DataError(f"{name} is damaged: its header cannot be parsed.") from error
    if dtype.hasobject:
        raise DataError(
            f"{name} holds Python objects, which would have to be unpickled, and a pickle can run anything. Save "
            "arrays of numbers."
        )
    if dtype.kind not in "biufcSUMm" or not dtype.itemsize or any(size < 0 for size in shape):
        raise DataError(f"{name} holds {dtype} of shape {shape}, not numbers or text.")
    return Header(shape, in_columns, dtype)


@contextlib.contextmanager
def _told(path):
    """What is found wrong with a file as DataError."""
    try:
        yield
    except GpukitError:
        raise
    except DAMAGE as error:
        raise DataError(f"{path} is damaged or cut short ({str(error):.200}). Copy or write it again.") from error
