"""Files of whole arrays: gpukit's binary copy (.gkr, see container.py), which loads at disk speed, and scipy's .npz."""

import zipfile

import numpy as np

from gpukit.errors import DataError
from gpukit.io import container
from gpukit.persist import atomic_write
from gpukit.ratings.formats import BINARY_MAGIC
from gpukit.ratings.repeats import without_repeats
from gpukit.ratings.table import Ratings, _numbered

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
    return container.check_output(path, SUFFIXES)


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
    return container.begins_with(path, BINARY_MAGIC)


def _holds_arrays(path):
    try:
        with zipfile.ZipFile(path) as archive:
            return all(name.endswith(".npy") for name in archive.namelist())
    except zipfile.BadZipFile as error:
        raise DataError(f"{path} is damaged or cut short ({error}). Fetch or pack it again.") from error


def read_gkr(path, mmap=False):
    """Ratings of a binary copy; mmap=True leaves the arrays on disk, read-only, until they are touched."""
    header = container.read_header(path, BINARY_MAGIC, "ratings (.gkr)")
    ratings = Ratings(**container.read_arrays(path, header, mmap))
    for rows, size, what in ((ratings.users, ratings.shape[0], "user"), (ratings.items, ratings.shape[1], "item")):
        if len(rows) and (rows.min() < 0 or rows.max() >= size):
            raise DataError(
                f"{path} is damaged: it has a {what} row beyond its {size:,} {what}s. Convert the ratings again."
            )
    return ratings


def _write_gkr(ratings, file):
    container.write_arrays(file, BINARY_MAGIC, {name: getattr(ratings, name) for name in NAMES})


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
    np.savez(
        file,
        row=ratings.users,
        col=ratings.items,
        data=ratings.values,
        shape=np.array(ratings.shape),
        format=b"coo",
        user_ids=ratings.user_ids,
        item_ids=ratings.item_ids,
    )


def _write_csv(ratings, file, rows=1 << 18):
    """Lines user,item,rating after a header, the shortest text that gives each float32 back."""
    import csv
    import io

    different, which = np.unique(ratings.values, return_inverse=True)
    spelled = np.array(
        [f"{value:g}" if np.float32(f"{value:g}") == value else str(value) for value in different], dtype=object
    )
    file.write(b"user,item,rating\n")
    for start in range(0, len(ratings), rows):
        part = slice(start, start + rows)
        users, items = ratings.user_ids[ratings.users[part]], ratings.item_ids[ratings.items[part]]
        lines = io.StringIO()
        rows_of_part = zip(users.tolist(), items.tolist(), spelled[which[part]], strict=True)
        csv.writer(lines, lineterminator="\n").writerows(rows_of_part)
        file.write(lines.getvalue().encode())
