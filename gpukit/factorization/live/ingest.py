"""New ratings in the rows of the grown model; on the device if their ids begin with the known ones."""

import numpy as np

from gpukit.factorization.update import inputs
from gpukit.io import trust
from gpukit.io.ids import KeyTable, rows_of
from gpukit.ratings import check
from gpukit.ratings.pairs import table_of
from gpukit.ratings.table import Ratings


def part_of(X, y, known, finders, steps):
    """Return the inputs.NewRatings of fit's arguments (X, y), with columns on the host or on the device.

    known: (user ids, item ids); finders: see inputs.in_rows; steps: the live model's steps. Raises DataError,
    ParameterError.
    """
    if y is None and isinstance(X, Ratings) and X.weights is None and len(X):
        part = accept_as_is(X, known, steps)
        if part is not None:
            return part
    return inputs.in_rows(inputs.require_unweighted(table_of(X, y)), *known, finders)


def accept_as_is(ratings, known, steps):
    """Return the NewRatings of Ratings whose ids begin with the known ones, else None.

    The columns are on the device, where kernels check the range of the rows and find the new ones: checks on the host
    took longer than the transfer. None also for invalid Ratings, for which the checks on the host report the error.
    """
    ids = ratings.user_ids, ratings.item_ids
    is_checked = ratings._state >= check.SOUND
    if not is_checked and (check.misshapen(ratings) or not all(isinstance(side, np.ndarray) for side in ids)):
        return None
    if not all(map(inputs.begins_with, ids, known)) or not (is_checked or all(map(has_unique_new_ids, ids, known))):
        return None
    rows = [steps.resident(side, np.int32) for side in (ratings.users, ratings.items)]
    seen = find_occurring(rows, ids, known, steps)
    if seen is None:
        return None
    (users, user_ids), (items, item_ids) = (drop_unused_ids(*side, steps) for side in zip(rows, ids, known, seen))
    return inputs.NewRatings(users, items, steps.resident(ratings.values, np.float32), user_ids, item_ids)


def has_unique_new_ids(ids, known):
    """Return True if no id occurs twice in ids, which begin with the distinct known ones."""
    if ids.dtype.kind not in "iu" or not len(known):
        return trust.repeated(ids) is None
    tail = ids[len(known) - 1 :]
    is_increasing = (tail[1:] > tail[:-1]).all() and known.max() == known[-1]
    return bool(is_increasing) or trust.repeated(ids) is None


def find_occurring(rows, ids, known, steps):
    """Return ((new users,), (new items,)) bool: True for new ids that occur in rows ((n,), (n,)) on the device.

    None if a row is out of range.
    """
    firsts = [len(before) for before in known]
    users, items = (1 + len(now) - first for now, first in zip(ids, firsts))
    seen = steps.zeros(users + items, np.uint8)
    for side, first, marks in zip(rows, firsts, (seen[:users], seen[users:])):
        steps.run("mark_new", side, first, marks)
    flags = steps.fetch(seen) != 0
    return None if flags[0] or flags[users] else (flags[1:users], flags[users + 1 :])


def drop_unused_ids(rows, ids, known, seen, steps):
    """Return (rows (n,) int32 on the device, ids) without new ids that do not occur."""
    if seen.all():
        return rows, ids
    first, renamed = len(known), steps.empty(rows.size, np.int32)
    steps.run("rename_new", rows, first, steps.resident(first - 1 + np.cumsum(seen), np.int32), renamed)
    return renamed, np.concatenate((ids[:first], ids[first:][seen]))


class IdLookup:
    """gpukit.io.ids.rows_of for known ids that only grow; whole numbers are kept in a hash table.

    The table is created on first use and extended by the ids added since.
    """

    def __init__(self):
        self._table = None

    def __call__(self, ids, known, what="user"):
        """Return the rows (n,) int32 of ids in the array `known`, -1 for unknown ids; raises as rows_of."""
        if ids.dtype.kind not in "iu" or known.dtype.kind not in "iu":
            return rows_of(ids, known, what)
        if self._table is None:
            self._table = KeyTable(table_capacity(len(known)))
        if self._table.count < len(known):
            self._table.codes(whole(known[self._table.count :]))
        return self._table.find(whole(ids))


def table_capacity(n):
    """Return the slots of a KeyTable of n keys: a power of two, at most half of them used, with space for n more."""
    return 1 << max(12, int(2 * n).bit_length())


def whole(ids):
    """Return ids as int64 for a KeyTable."""
    return np.ascontiguousarray(ids, dtype=np.int64)
