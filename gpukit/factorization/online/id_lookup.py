"""Rows of ids in a model: known ids keep their rows, new ids are appended."""

import numpy as np

from gpukit.base.arrays import as_text
from gpukit.errors import DataError
from gpukit.io import trust
from gpukit.io.ids import rows_of


class IdLookup:
    """gpukit.io.ids.rows_of for known ids that only grow; whole numbers are kept in a dict.

    The dict is filled on first use and extended by the ids added since. More ids than the known ones are found by a
    hash table of their own.
    """

    def __init__(self):
        self._rows = {}

    def __call__(self, ids, known, what="user"):
        """Return the rows (n,) int32 of ids in the array `known`, -1 for unknown ids; raises as rows_of."""
        if ids.dtype.kind not in "iu" or known.dtype.kind not in "iu":
            return rows_of(ids, known, what)
        if len(ids) > len(known):
            import pyarrow
            from pyarrow import compute

            sides = (pyarrow.array(side.astype(np.int64, copy=False)) for side in (ids, known))
            return compute.index_in(*sides).fill_null(-1).to_numpy().copy()  # writable
        count = len(self._rows)
        self._rows.update(zip(known[count:].tolist(), range(count, len(known))))
        return np.fromiter((self._rows.get(one, -1) for one in ids.tolist()), np.int32, len(ids))


def extend_ids(rows, ids, known, what, steps, find=rows_of):
    """Return (rows (n,) int32 on the device in the extended ids, extended ids); None for a row out of range.

    rows (n,) int32: numbers of ids, on the host; the extended ids are the known ones, then the new ones that occur in
    rows; find: function like rows_of. Whole numbers match ids that are text, and vice versa. Raises DataError for a new
    id of another kind than the known ones.
    """
    rows = steps.resident(rows, np.int32)
    if begins_with(ids, known):
        return append_ids(rows, ids, len(known), steps)
    names, seen = find(ids, known, what), find_occurring(rows, 0, len(ids), steps)
    if seen is None:
        return None
    fresh = np.flatnonzero((names < 0) & seen)
    names[fresh] = np.arange(len(known), len(known) + len(fresh), dtype=np.int32)
    rows = rename_rows(rows, 0, names, steps)
    return rows, np.concatenate((known, convert_ids(ids[fresh], known, what))) if len(fresh) else known


def begins_with(ids, known):
    """Return True if ids begin with the known ones, in their order."""
    same_type = ids.dtype == known.dtype or ids.dtype.kind == known.dtype.kind == "U"
    if len(ids) < len(known) or not same_type:
        return False
    return shares_memory(ids, known) or np.array_equal(ids[: len(known)], known)


def shares_memory(ids, known):
    """Return True if the known ids are the first part of the memory of ids."""
    memory, other = ids.__array_interface__, known.__array_interface__
    return ids.dtype == known.dtype and memory["data"] == other["data"] and ids.strides == known.strides


def has_unique_new_ids(ids, known):
    """Return True if no id occurs twice in ids, which begin with the distinct known ones."""
    if ids.dtype.kind not in "iu" or not len(known):
        return trust.repeated(ids) is None
    tail = ids[len(known) - 1 :]
    is_increasing = (tail[1:] > tail[:-1]).all() and known.max() == known[-1]
    return bool(is_increasing) or trust.repeated(ids) is None


def append_ids(rows, ids, first, steps):
    """Return (rows (n,) int32 on the device, ids) without ids from number `first` on that do not occur in rows.

    None for a row out of range.
    """
    seen = find_occurring(rows, first, len(ids), steps)
    if seen is None:
        return None
    if seen.all():
        return rows, ids
    rows = rename_rows(rows, first, first - 1 + np.cumsum(seen, dtype=np.int32), steps)
    return rows, np.concatenate((ids[:first], ids[first:][seen]))


def find_occurring(rows, first, end, steps):
    """Return (end - first,) bool: True for numbers from first to end that occur in rows (n,) int32 on the device.

    None if a row is out of range.
    """
    seen = steps.zeros(1 + end - first, np.uint8)
    steps.run("mark_new", rows, first, seen)
    seen = steps.fetch(seen)
    return None if seen[0] else seen[1:] != 0


def rename_rows(rows, first, names, steps):
    """Return rows (n,) int32 on the device, those from `first` on replaced by names (any,) int32 on the host."""
    renamed = steps.empty(rows.size, np.int32)
    steps.run("rename_new", rows, first, steps.resident(names, np.int32), renamed)
    return renamed


def convert_ids(ids, known, what):
    """Return new ids in the type of the known ones, text or int64; raise DataError for text if the ids are numbers."""
    if known.dtype.kind == "U":
        return as_text(ids)
    if ids.dtype.kind in "iu":
        return ids.astype(np.int64)
    numbers = [spelled for text in ids.tolist() if (spelled := parse_whole(text)) is not None]
    if len(numbers) < len(ids):
        text = next(text for text in ids.tolist() if parse_whole(text) is None)
        raise DataError(
            f"The new {what} {text!r} is text, and the model's {len(known):,} {what} ids are whole numbers. Use an "
            "unused number as its id, or train again with ids that are text."
        )
    return np.array(numbers, np.int64)


def parse_whole(text):
    """Return the int64 that an id spells as Python prints it, None for anything else."""
    try:
        value = int(text)
    except ValueError:
        return None
    return value if str(value) == text and -(2**63) <= value < 2**63 else None
