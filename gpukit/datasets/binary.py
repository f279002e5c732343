"""Files of whole arrays: gpukit's binary copy (.gkr), which loads at the disk's speed, and scipy's .npz.

A .gkr file: 8 bytes of magic, the header's length as uint64, the header in JSON (version, and for each array its dtype,
shape and offset; the file's whole size), then the raw arrays, each at a multiple of 64 bytes, little endian.
"""

import json
import zipfile
from pathlib import Path

import numpy as np

from gpukit.datasets.formats import BINARY_MAGIC
from gpukit.datasets.order import without_repeats
from gpukit.datasets.ratings import Ratings, _numbered
from gpukit.errors import DataError, ParameterError
from gpukit.persist import atomic_write, check_writable

VERSION = 1
ALIGN = 64
NAMES = ("users", "items", "values", "user_ids", "item_ids")
SUFFIXES = (".gkr", ".npz", ".csv")


def write_ratings(ratings, path):
    """Write ratings to path; its suffix says how: .gkr (binary copy), .npz (scipy sparse, with the ids) or .csv.

    The file appears whole or not at all. Raises ParameterError for another suffix, DataError for repeated pairs.
    """
    writers = {".gkr": _write_gkr, ".npz": _write_npz, ".csv": _write_csv}
    suffix = check_output(path)
    ratings = without_repeats(ratings, "error")
    with atomic_write(path) as temporary, open(temporary, "wb") as file:
        writers[suffix](ratings, file)


def check_output(path):
    """The suffix of a path that write_ratings can write to; ParameterError or DataError for one that it cannot."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise ParameterError(f"The output's name must end in {', '.join(SUFFIXES)}; got {str(path)!r}.")
    check_writable(path)
    return suffix


def reader_of(path, format="auto"):
    """The function that reads path when it is a file of arrays (by content, or by format's name), else None."""
    try:
        with open(path, "rb") as file:
            magic = file.read(8)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error}.") from error
    if format == "gkr" or (format == "auto" and magic == BINARY_MAGIC):
        return read_gkr
    if format == "npz" or (format == "auto" and magic.startswith(b"PK\x03\x04") and _holds_arrays(path)):
        return read_npz
    return None


def is_copy(path):
    """True for a .gkr file; what it holds was checked for repeated pairs when it was written."""
    if not Path(path).is_file():
        return False
    with open(path, "rb") as file:
        return file.read(8) == BINARY_MAGIC


def _holds_arrays(path):
    try:
        with zipfile.ZipFile(path) as archive:
            return all(name.endswith(".npy") for name in archive.namelist())
    except zipfile.BadZipFile as error:
        raise DataError(f"{path} is damaged or cut short ({error}). Fetch or pack it again.") from error


def read_gkr(path, mmap=False):
    """Ratings of a binary copy; mmap=True leaves the arrays on disk, read-only, until they are touched."""
    header = _header(path)
    arrays = {}
    for name in NAMES:
        entry = header["arrays"][name]
        dtype, shape, offset = np.dtype(entry["dtype"]), tuple(entry["shape"]), entry["offset"]
        if mmap and shape[0]:
            arrays[name] = np.memmap(path, dtype, "r", offset, shape)
        else:
            arrays[name] = np.fromfile(path, dtype, shape[0], offset=offset)
    ratings = Ratings(**arrays)
    for rows, size, what in ((ratings.users, ratings.shape[0], "user"), (ratings.items, ratings.shape[1], "item")):
        if len(rows) and (rows.min() < 0 or rows.max() >= size):
            raise DataError(f"{path} is damaged: it has a {what} row beyond its {size:,} {what}s. Convert the ratings "
                            "again.")
    return ratings


def _header(path):
    """The checked header of a .gkr file."""
    again = "Write it again with gpukit convert."
    with open(path, "rb") as file:
        start = file.read(16)
        if len(start) < 16 or start[:8] != BINARY_MAGIC:
            raise DataError(f"{path} is not a binary copy of ratings (.gkr). {again}")
        length = int.from_bytes(start[8:], "little")
        raw = file.read(min(length, 1 << 20))
    try:
        header = json.loads(raw)
        version = header["version"]
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} is cut short or damaged: its header cannot be read. {again}") from error
    if version != VERSION:
        raise DataError(f"{path} has format version {version}; this gpukit reads version {VERSION}. {again}")
    size = Path(path).stat().st_size
    if size != header["size"]:
        raise DataError(f"{path} is cut short or damaged: {size:,} bytes where its header says {header['size']:,}. "
                        f"{again}")
    return header


def _write_gkr(ratings, file):
    arrays = {name: np.ascontiguousarray(getattr(ratings, name)) for name in NAMES}
    header = _layout(arrays)
    file.write(header)
    for array in arrays.values():
        file.write(b"\0" * (-file.tell() % ALIGN))
        array.astype(array.dtype.newbyteorder("<"), copy=False).tofile(file)


def _layout(arrays):
    """Magic, length and JSON header of arrays, padded to a fixed length because the offsets in it depend on its own."""
    room = ALIGN * (16 + sum(len(name) for name in arrays))
    at, entries = room, {}
    for name, array in arrays.items():
        at += -at % ALIGN
        entries[name] = {"dtype": array.dtype.newbyteorder("<").str, "shape": array.shape, "offset": at}
        at += array.nbytes
    header = json.dumps({"version": VERSION, "size": at, "arrays": entries}).encode().ljust(room - 16)
    return BINARY_MAGIC + len(header).to_bytes(8, "little") + header


def read_npz(path):
    """Ratings of a scipy .npz matrix; ids are those that gpukit wrote into it, else row and column numbers from 0."""
    import scipy.sparse

    try:
        matrix = scipy.sparse.load_npz(path)
        with np.load(path, allow_pickle=False) as stored:
            ids = [stored[name] for name in NAMES[3:]] if "user_ids" in stored else None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} is not a scipy sparse matrix (save_npz), or is damaged: {error}.") from error
    coo = matrix.tocoo()
    ratings = _numbered(coo.row, coo.col, coo.data, coo.shape)
    bad = np.flatnonzero(~np.isfinite(ratings.values))
    if len(bad):
        raise DataError(f"{path}: stored rating number {bad[0] + 1} is {ratings.values[bad[0]]}, not a finite number.")
    return Ratings(ratings.users, ratings.items, ratings.values, *(ids or (ratings.user_ids, ratings.item_ids)))


def _write_npz(ratings, file):
    np.savez(file, row=ratings.users, col=ratings.items, data=ratings.values, shape=np.array(ratings.shape),
             format=b"coo", user_ids=ratings.user_ids, item_ids=ratings.item_ids)


def _write_csv(ratings, file, rows=1 << 18):
    """Lines user,item,rating after a header, the shortest text that gives each float32 back."""
    import csv
    import io

    different, which = np.unique(ratings.values, return_inverse=True)
    spelled = np.array([f"{value:g}" if np.float32(f"{value:g}") == value else str(value) for value in different],
                       dtype=object)
    file.write(b"user,item,rating\n")
    for start in range(0, len(ratings), rows):
        part = slice(start, start + rows)
        users, items = ratings.user_ids[ratings.users[part]], ratings.item_ids[ratings.items[part]]
        lines = io.StringIO()
        rows_of_part = zip(users.tolist(), items.tolist(), spelled[which[part]], strict=True)
        csv.writer(lines, lineterminator="\n").writerows(rows_of_part)
        file.write(lines.getvalue().encode())
