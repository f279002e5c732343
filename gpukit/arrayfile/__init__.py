"""Named arrays in one file, under checksums: models, checkpoints and binary copies are such files.

8 bytes of magic; version, length and CRC-32 of the header, each a uint32 (the CRC is that of all before it and of the
header); the header in JSON: facts, and of each array its name, dtype, shape and checksum; then the arrays as they lie
in memory, little endian, each at the next multiple of 64 bytes, and nothing behind them. A checksum is the CRC-32 of
the checksums (uint32) of an array's pieces of 1 MiB, so that threads can share the work; that of a piece is the CRC-32
of the sums of its rows and of its columns, as a table of uint64, 512 a row (and of what is left of a row). Sums take a
quarter of the time of a CRC; no change of up to three words keeps those of rows and columns both.

pieces.py has the sums; those of large arrays are compiled.py's, where numba is loaded already.

A file is read only if its size is, to the byte, what its header makes it: nothing is allocated that is not there.
"""

import contextlib
import json
import os
import struct
import zlib
from math import prod
from typing import NamedTuple

import numpy as np

from gpukit._pool import shared_out
from gpukit.arrayfile import pieces
from gpukit.arrayfile.pieces import PIECE
from gpukit.errors import DataError

VERSION = 2
ALIGN = 64
AT_ONCE = 8 * PIECE  # bytes of a thread's task
START = struct.Struct("<8sIII")
LAST_LETTER, SURROGATES = 0x10FFFF, (0xD800, 0xDFFF)


class Kind(NamedTuple):
    """A kind of file: its magic (8 bytes), what it is called, the error for one that is not sound, what to do then."""

    magic: bytes
    what: str
    error: type
    again: str

    def refuse(self, path, fault):
        """The error for a file that has a fault."""
        return self.error(f"{path} is damaged or cut short: {fault}. {self.again}")


class Entry(NamedTuple):
    """An array in a file."""

    name: str
    dtype: np.dtype
    shape: tuple
    crc: int
    offset: int

    @property
    def nbytes(self):
        """Bytes, counted without overflow."""
        return prod(self.shape) * self.dtype.itemsize


class Stretch(NamedTuple):
    """A stretch of an array in a file: its Entry, its bytes (b,), where they stand in the file."""

    entry: Entry
    whole: np.ndarray
    offset: int


class Look(NamedTuple):
    """What was found in a Stretch: the checksums of its pieces, as bytes; [(low, high)] of their numbers, or []."""

    crcs: bytes
    bounds: list


class Header(NamedTuple):
    """facts, what JSON holds; entries, the arrays in their order."""

    facts: dict
    entries: tuple


def write(file, magic, facts, arrays):
    """Write facts (a dict for JSON) and {name: array} (numbers, booleans or fixed-width strings) to an open binary
    file, a pipe too. Raises DataError for text with a surrogate, which reading refuses."""
    arrays = {name: _stored(array) for name, array in arrays.items()}
    for name, array in arrays.items():
        refuse_surrogates(name, array)
    entries = [[name, a.dtype.str, list(a.shape), _crc_of(_bytes_of(a))] for name, a in arrays.items()]
    header = json.dumps({"facts": facts, "arrays": entries}).encode()
    start = START.pack(magic, VERSION, len(header), 0)[:-4]
    at = START.size + len(header)
    file.write(start + struct.pack("<I", zlib.crc32(header, zlib.crc32(start))) + header)
    for array in arrays.values():
        file.write(b"\0" * (-at % ALIGN))
        file.write(_bytes_of(array))
        at += -at % ALIGN + array.nbytes


def _stored(array):
    array = np.asarray(array, order="C")
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def _bytes_of(array):
    """The memory of a C-contiguous array as uint8 (n,)."""
    return array.reshape(-1).view(np.uint8) if array.size else np.empty(0, np.uint8)


def begins_with(path, magic):
    """True when path is a file that begins with magic."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(len(magic)) == magic


def read_header(path, kind):
    """The Header of a file, which has the size that it says; raises kind.error, DataError where it cannot be read."""
    with _told(path), open(path, "rb") as file:
        return _header(path, kind, file)


def _header(path, kind, file):
    size = os.fstat(file.fileno()).st_size
    start = file.read(START.size)
    if not start or not (start.startswith(kind.magic) or kind.magic.startswith(start)):
        raise kind.error(
            f"{path} is not {kind.what} (it {'does not start as one' if start else 'is empty'}). {kind.again}"
        )
    if len(start) < START.size:
        raise kind.refuse(path, "its header cannot be read")
    _, version, length, crc = START.unpack(start)
    if version != VERSION:
        version = 1 if start[16:17] == b"{" else version  # its header begins where ours has the checksum
        raise kind.error(f"{path} has format version {version}; this gpukit reads version {VERSION}. {kind.again}")
    raw = file.read(min(length, size))
    if zlib.crc32(raw, zlib.crc32(start[:-4])) != crc:
        raise kind.refuse(path, "its header is not as it was written")
    try:
        header = _parsed(raw, START.size + length)
    except (ValueError, TypeError, KeyError, RecursionError, SyntaxError) as error:
        raise kind.refuse(path, f"its header is malformed ({error!s:.200})") from error
    end = header.entries[-1].offset + header.entries[-1].nbytes if header.entries else START.size + length
    if size != end:
        raise kind.refuse(path, f"{size:,} bytes where its header says {end:,}")
    return header


def _parsed(raw, at):
    """The Header in JSON bytes of a file whose arrays begin after `at`; ValueError and the like for any other JSON."""
    header = json.loads(raw)
    facts, listed = header["facts"], header["arrays"]
    if not isinstance(facts, dict) or not isinstance(listed, list):
        raise ValueError("facts are a dict and arrays a list")
    entries, names = [], set()
    for name, kind, shape, crc in listed:
        if not isinstance(name, str) or name in names:
            raise ValueError(f"array {name!r:.80} stands there twice" if isinstance(name, str) else "a name is no text")
        at += -at % ALIGN
        entries.append(Entry(name, _dtype(kind), _shape(shape), crc, at))
        at += entries[-1].nbytes
        names.add(name)
    return Header(facts, tuple(entries))


def _dtype(text):
    """The dtype that a text spells, of numbers, booleans or strings of some width."""
    dtype = np.dtype(text) if isinstance(text, str) else np.dtype("V")
    if dtype.str != text or dtype.kind not in "biufUS" or not dtype.itemsize or text[0] == ">":
        raise ValueError(f"{text!r:.80} is no kind of numbers or text")
    return dtype


def _shape(shape):
    if not isinstance(shape, list) or len(shape) > 32:
        raise ValueError(f"{shape!r:.80} is no shape")
    if not all(type(size) is int and 0 <= size < 2**40 for size in shape):
        raise ValueError(f"{shape!r:.80} is no shape")
    return tuple(shape)


def read(path, kind, mmap=False, leave=(), bounds=None):
    """(facts, {name: array}) of a file; raises kind.error for one that is not as it was written.

    mmap: leave arrays on disk, read-only; they are looked at here once, and must not change afterwards. leave: names of
    arrays that are not wanted. bounds: a dict that gets, of each array of numbers that has any, {name: (low, high)}
    that they lie within; NaN where one is none. They are found while the numbers are in the cache, for next to nothing.
    """
    with _told(path), open(path, "rb") as file:
        return read_open(file, path, kind, mmap, leave, bounds)


def read_open(file, path, kind, mmap=False, leave=(), bounds=None):
    """`read` of a file that is open, at its beginning; path: its name in messages."""
    with _told(path):
        header = _header(path, kind, file)
        entries = [entry for entry in header.entries if entry.name not in leave]
        arrays = {entry.name: _room(file, entry, mmap) for entry in entries}
        parts = [part for entry in entries for part in _stretches(entry, arrays[entry.name])]
        sums = pieces.way(sum(entry.nbytes for entry in entries))
        looks = shared_out(lambda part: _taken(file.fileno(), mmap, bounds is not None, sums, part), parts)
    for entry in entries:
        found = [look for part, look in zip(parts, looks, strict=True) if part.entry is entry]
        if zlib.crc32(b"".join(look.crcs for look in found)) != entry.crc:
            raise kind.refuse(path, f"array {entry.name!r:.80} is not as it was written")
        if found and found[0].bounds:
            bounds[entry.name] = _around([pair for look in found for pair in look.bounds])
        if not is_legible(arrays[entry.name]):
            raise kind.refuse(
                path, f"array {entry.name!r:.80} holds no {'text' if entry.dtype.kind == 'U' else 'booleans'}"
            )
    return header.facts, arrays


def _room(file, entry, mmap):
    """The array of an entry: memory to be filled, or the file's own."""
    if mmap and entry.nbytes:
        return np.memmap(file, entry.dtype, "r", entry.offset, entry.shape)
    return np.empty(entry.shape, entry.dtype)


def _stretches(entry, array):
    """[Stretch] of the array of an entry."""
    whole = _bytes_of(array)
    return [Stretch(entry, whole[at : at + AT_ONCE], entry.offset + at) for at in range(0, len(whole), AT_ONCE)]


def _taken(file, mmap, bounded, sums, stretch):
    """The Look at a Stretch, piece by piece, each read first unless the file is mapped; sums: pieces.way."""
    crcs, bounds = [], []
    dtype = stretch.entry.dtype if bounded and stretch.entry.dtype.kind in "iuf" else None
    for at in range(0, len(stretch.whole), PIECE):
        piece = stretch.whole[at : at + PIECE]
        if not mmap:
            _fill(file, piece, stretch.offset + at)
        crc, found = pieces.look(piece, dtype, sums)
        crcs.append(crc)
        bounds.append(found)
    return Look(np.array(crcs, "<u4").tobytes(), bounds if dtype is not None else [])


def _fill(file, piece, offset):
    """Read a piece whole; what a file that has shrunk lacks is left, and found by the checksum."""
    done = 0
    while done < len(piece):
        got = os.preadv(file, [piece[done:]], offset + done)
        if not got:
            return
        done += got


def _around(pairs):
    """The (low, high) of several."""
    low, high = zip(*pairs)
    whole = all(one == one for one in low + high)
    return (min(low), max(high)) if whole else (np.nan, np.nan)


def _crc_of(whole):
    """The checksum of bytes (n,), as the module says."""
    starts = range(0, len(whole), PIECE)
    crcs = shared_out(lambda at: pieces.checksum(whole[at : at + PIECE]), starts)
    return zlib.crc32(np.array(crcs, "<u4").tobytes())


def refuse_surrogates(name, array):
    """Raise DataError for the first text of an array that has a surrogate, which no file holds."""
    if array.dtype.kind != "U" or is_legible(array):
        return
    word = next(word for word in array.reshape(-1) if not is_legible(np.atleast_1d(word)))
    raise DataError(f"{str(word)!r:.80} ({name}) has a surrogate, which UTF-8 does not hold. Rename it.")


def is_legible(array):
    """Whether strings are made of letters, and booleans of 0 and 1: numpy relies on it."""
    if array.dtype.kind == "b":
        return not array.size or array.view(np.uint8).max() <= 1
    if array.dtype.kind != "U" or not array.size:
        return True
    letters = array.reshape(-1).view(np.uint32)
    low, high = SURROGATES
    return letters.max() <= LAST_LETTER and not ((letters >= low) & (letters <= high)).any()


@contextlib.contextmanager
def _told(path):
    """The disk's errors as DataError."""
    try:
        yield
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}.") from error
