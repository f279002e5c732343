"""Named arrays in a checksummed file: models, checkpoints, binary copies.

Format: 8 bytes of magic; version, length and CRC-32 of the header, each a uint32 (the CRC covers all before it and the
header); the header in JSON: facts, and for each array its name, dtype, shape and checksum; then the arrays as in
memory, little endian, each at the next multiple of 64 bytes, and nothing after them. A checksum is the CRC-32 of the
checksums (uint32) of an array's pieces of 1 MiB, so that threads can share the computation. The checksum of a piece is
the CRC-32 of the sums of its rows and of its columns, as a table of uint64, 512 per row (and of the incomplete last
row). Sums take a quarter of the time of a CRC, and a change of up to three words cannot keep both row and column sums.

A file is read only if its size is exactly that of its header, so no memory is allocated for missing data.
"""

import contextlib
import json
import os
import struct
import sys
import zlib
from math import prod
from typing import NamedTuple

import numpy as np

from gpukit._pool import parallel_map
from gpukit.errors import DataError

VERSION = 2
ALIGN = 64
PIECE, ROW = 1 << 20, 4096  # bytes
START = struct.Struct("<8sIII")
WRITTEN = {  # files that gpukit writes: {name: (magic, description)}
    "model": (b"GPUKITM1", "a model or checkpoint"),
    "gkr": (b"GPUKITR1", "a binary copy of ratings (.gkr)"),
    "gkl": (b"GPUKITL1", "a binary copy of documents (.gkl)"),
    "basis": (b"GPUKITB1", "a basis of a graph"),
}


class Kind(NamedTuple):
    """Kind of file: magic (8 bytes), title, error class, advice for damaged files."""

    magic: bytes
    what: str
    error: type
    again: str

    def refuse(self, path, fault):
        """Return the error for a file with a fault."""
        return self.error(f"{path} is damaged or cut short: {fault}. {self.again}")


class Entry(NamedTuple):
    """Array in a file."""

    name: str
    dtype: np.dtype
    shape: tuple
    crc: int
    offset: int

    @property
    def nbytes(self):
        """Size in bytes, computed without overflow."""
        return prod(self.shape) * self.dtype.itemsize


class Stretch(NamedTuple):
    """Part of an array in a file.

    entry: the array's Entry; whole: its bytes (b,); offset: in the file.
    """

    entry: Entry
    whole: np.ndarray
    offset: int


class Header(NamedTuple):
    """facts: JSON object; entries: the arrays in order."""

    facts: dict
    entries: tuple


def write(file, magic, facts, arrays):
    """Write facts (a JSON-serializable dict) and {name: array} to an open binary file.

    Arrays hold numbers, booleans or fixed-width strings; the file may be a pipe. Raises DataError for text with a
    surrogate, which reading rejects.
    """
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    arrays = {name: array.astype(array.dtype.newbyteorder("<"), copy=False) for name, array in arrays.items()}
    for name, array in arrays.items():
        refuse_surrogates(name, array)
    entries = [[name, a.dtype.str, list(a.shape), _crc_of(_bytes_of(a))] for name, a in arrays.items()]
    header = json.dumps({"facts": facts, "arrays": entries}).encode()
    start = START.pack(magic, VERSION, len(header), 0)[:-4]
    position = START.size + len(header)
    file.write(start + struct.pack("<I", zlib.crc32(header, zlib.crc32(start))) + header)
    for array in arrays.values():
        file.write(b"\0" * (-position % ALIGN))
        file.write(_bytes_of(array))
        position += -position % ALIGN + array.nbytes


def _bytes_of(array):
    """Return the memory of a C-contiguous array as uint8 (n,)."""
    return array.reshape(-1).view(np.uint8) if array.size else np.empty(0, np.uint8)


def begins_with(path, magic):
    """Return True if path is a file that begins with magic."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(len(magic)) == magic


def header_checksum(path):
    """Return the checksum of a file's header, which contains those of the arrays."""
    with open(path, "rb") as file:
        return START.unpack(file.read(START.size).ljust(START.size, b"\0"))[-1]


def read_header(path, kind):
    """Return the Header of a file, whose size must match it.

    Raises kind.error, or DataError if it cannot be read.
    """
    with disk_errors(path), open(path, "rb") as file:
        return _header(path, kind, file)


def _header(path, kind, file):
    size = os.fstat(file.fileno()).st_size
    start = file.read(START.size)
    if not start or not (start.startswith(kind.magic) or kind.magic.startswith(start)):
        if (title := dict(WRITTEN.values()).get(start[: len(kind.magic)])) is not None:
            raise kind.error(f"{path} is {title} written by gpukit, not {kind.what}. Name another file.")
        raise kind.error(
            f"{path} is not {kind.what} (it {'does not start as one' if start else 'is empty'}). {kind.again}"
        )
    if len(start) < START.size:
        raise kind.refuse(path, "its header cannot be read")
    _, version, length, crc = START.unpack(start)
    if version != VERSION:
        raise kind.error(f"{path} has format version {version}; this gpukit reads version {VERSION}. {kind.again}")
    raw = file.read(min(length, size))
    if zlib.crc32(raw, zlib.crc32(start[:-4])) != crc:
        raise kind.refuse(path, "its header is not as it was written")
    try:
        header = _parse_header(raw, START.size + length)
    except (ValueError, TypeError, KeyError, RecursionError, SyntaxError) as error:
        raise kind.refuse(path, f"its header is malformed ({error!s:.200})") from error
    end = header.entries[-1].offset + header.entries[-1].nbytes if header.entries else START.size + length
    if size != end:
        raise kind.refuse(path, f"{size:,} bytes where its header says {end:,}")
    return header


def _parse_header(raw, position):
    """Parse the Header in JSON bytes; arrays begin after `position`.

    Raises ValueError and the like for other JSON.
    """
    header = json.loads(raw)
    facts, array_entries = header["facts"], header["arrays"]
    if not isinstance(facts, dict) or not isinstance(array_entries, list):
        raise ValueError("facts are a dict and arrays a list")
    entries, names = [], set()
    for name, kind, shape, crc in array_entries:
        if not isinstance(name, str) or name in names:
            raise ValueError(f"array {name!r:.80} stands there twice" if isinstance(name, str) else "a name is no text")
        position += -position % ALIGN
        entries.append(Entry(name, _dtype(kind), _shape(shape), crc, position))
        position += entries[-1].nbytes
        names.add(name)
    return Header(facts, tuple(entries))


def _dtype(text):
    """Return the dtype that a text spells: numbers, booleans or fixed-width strings."""
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
    """Return (facts, {name: array}) of a file; raises kind.error if it is damaged.

    mmap: map arrays read-only; they are checked here once and must not change afterwards. leave: names of arrays to
    skip. bounds: a dict that receives {name: (low, high)} for each non-empty array of numbers: a range that contains
    its values, NaN if one is NaN. The ranges are found at low cost while the numbers are in the cache.
    """
    with disk_errors(path), open(path, "rb") as file:
        return read_open(file, path, kind, mmap, leave, bounds)


def read_open(file, path, kind, mmap=False, leave=(), bounds=None, map_tasks=parallel_map):
    """Apply `read` to an open file; path: its name in messages; map_tasks: checks its parts, see _read_stretch."""
    with disk_errors(path):
        header = _header(path, kind, file)
        entries = [entry for entry in header.entries if entry.name not in leave]
        arrays = {entry.name: _room(file, entry, mmap) for entry in entries}
        parts = [part for entry in entries for part in _stretches(entry, arrays[entry.name])]
        looks = map_tasks(lambda part: _read_stretch(file.fileno(), mmap, bounds is not None, part), parts)
    for entry in entries:
        result = [look for part, look in zip(parts, looks, strict=True) if part.entry is entry]
        if zlib.crc32(b"".join(crcs for crcs, _ in result)) != entry.crc:
            raise kind.refuse(path, f"array {entry.name!r:.80} is not as it was written")
        if ranges := [pair for _, pairs in result for pair in pairs]:
            low, high = np.transpose(ranges)
            bounds[entry.name] = low.min(), high.max()
        if not is_legible(arrays[entry.name]):
            raise kind.refuse(
                path, f"array {entry.name!r:.80} holds no {'text' if entry.dtype.kind == 'U' else 'booleans'}"
            )
    return header.facts, arrays


def _room(file, entry, mmap):
    """Return an entry's array: uninitialized, or mapped from the file."""
    if mmap and entry.nbytes:
        return np.memmap(file, entry.dtype, "r", entry.offset, entry.shape)
    return np.empty(entry.shape, entry.dtype)


def _stretches(entry, array):
    """Return the parts of an entry's array, [Stretch]."""
    whole = _bytes_of(array)
    task = 8 * PIECE  # bytes per thread
    return [Stretch(entry, whole[index : index + task], entry.offset + index) for index in range(0, len(whole), task)]


def _read_stretch(file, mmap, bounded, stretch):
    """Return (checksums of a Stretch's pieces as bytes, [(low, high)] of the numbers of each piece or []).

    The pieces are read first unless mapped, and processed while they are in the cache.
    """
    crcs, bounds = [], []
    dtype = stretch.entry.dtype if bounded and stretch.entry.dtype.kind in "iuf" else None
    for index in range(0, len(stretch.whole), PIECE):
        piece = stretch.whole[index : index + PIECE]
        if not mmap:
            _fill(file, piece, stretch.offset + index)
        crcs.append(_checksum(piece))
        if dtype is not None:
            numbers = piece.view(dtype)
            bounds.append((numbers.min(), numbers.max()))
    return np.array(crcs, "<u4").tobytes(), bounds


def _checksum(piece):
    """Return the checksum of a piece, bytes (b,), as defined in the module."""
    end = len(piece) // ROW * ROW
    words = piece[:end].view("<u8").reshape(-1, ROW // 8)
    return zlib.crc32(words.sum(axis=0), zlib.crc32(words.sum(axis=1), zlib.crc32(piece[end:])))


def _fill(file, piece, offset):
    """Read a whole piece; bytes missing in a truncated file stay unset.

    The checksum detects them.
    """
    done = 0
    while done < len(piece):
        got = os.preadv(file, [piece[done:]], offset + done)
        if not got:
            return
        done += got


def _crc_of(whole):
    """Return the checksum of bytes (n,), as defined in the module."""
    starts = range(0, len(whole), PIECE)
    crcs = parallel_map(lambda position: _checksum(whole[position : position + PIECE]), starts)
    return zlib.crc32(np.array(crcs, "<u4").tobytes())


def refuse_surrogates(name, array):
    """Raise DataError for the first text of an array with a surrogate."""
    if array.dtype.kind != "U" or is_legible(array):
        return
    word = next(word for word in array.reshape(-1) if not is_legible(np.atleast_1d(word)))
    raise DataError(f"{str(word)!r:.80} ({name}) has a surrogate, which UTF-8 does not hold. Rename it.")


def is_legible(array):
    """Return True if strings are valid and booleans 0 or 1.

    numpy relies on it.
    """
    if array.dtype.kind == "b":
        return not array.size or array.view(np.uint8).max() <= 1
    if array.dtype.kind != "U" or not array.size:
        return True
    letters = array.reshape(-1).view(np.uint32)
    first, last = 0xD800, 0xDFFF  # surrogates
    return letters.max() <= sys.maxunicode and not ((letters >= first) & (letters <= last)).any()


@contextlib.contextmanager
def disk_errors(path):
    """Convert errors of the disk to DataError."""
    try:
        yield
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}.") from error
