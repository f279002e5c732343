"""Grouping ratings by row: compressed rows, and repeated (user, item) pairs. O(n), a counting sort."""

import numpy as np

from gpukit._jit import njit
from gpukit.errors import DataError, ParameterError
from gpukit.ratings.check import checked
from gpukit.ratings.table import DISTINCT, marked

RULES = ("last", "mean", "error")
LAST, MEAN, SUM = range(3)  # what becomes of a pair's entries in one column
MERGED = {"values": MEAN, "weights": MEAN, "counts": SUM, "times": LAST}  # by rule 'mean'


@njit
def _starts(rows, n_rows):
    """indptr (n_rows+1,) int64: where each row starts when rows (n,) are grouped."""
    indptr = np.zeros(n_rows + 1, dtype=np.int64)
    for row in rows:
        indptr[row + 1] += 1
    for row in range(n_rows):
        indptr[row + 1] += indptr[row]
    return indptr


@njit
def _grouped(rows, indptr, order):
    """Fill order (n,) integers: positions of the ratings grouped by row, in input order within a row."""
    cursor = indptr[:-1].copy()
    for at in range(len(rows)):
        order[cursor[rows[at]]] = at
        cursor[rows[at]] += 1


@njit
def _compress(rows, columns, values, order, indptr, indices, ordered):
    """Fill indices and ordered (n,), grouped by row: order visits the ratings by ascending column."""
    cursor = indptr[:-1].copy()
    for at in order:
        place = cursor[rows[at]]
        cursor[rows[at]] += 1
        indices[place] = columns[at]
        ordered[place] = values[at]


def grouped(rows, n_rows):
    """(indptr (n_rows+1,) int64, order (n,) int32 or int64): where each row starts, and its ratings in input order."""
    order = np.empty(len(rows), dtype=np.int32 if len(rows) < 2**31 else np.int64)
    indptr = _starts(rows, n_rows)
    _grouped(rows, indptr, order)
    return indptr, order


def compressed_rows(rows, columns, values, n_rows, n_columns):
    """(indptr (n_rows+1,) int64, indices (n,) int32, values (n,) float32) with each row's columns ascending.

    Pairs that occur twice stay, in their order in the input.
    """
    indices, ordered = np.empty(len(rows), dtype=np.int32), np.empty(len(rows), dtype=np.float32)
    indptr = _starts(rows, n_rows)
    _compress(rows, columns, values, grouped(columns, n_columns)[1], indptr, indices, ordered)
    return indptr, indices, ordered


def without_repeats(ratings, rule, in_place=False):
    """ratings with each (user, item) pair once, at the place of its first appearance.

    rule 'last': the pair's last rating in input order, with all that belongs to it; 'mean': their mean (float64
    inside), the mean of their weights, the sum of their counts, the last one's time; 'error': DataError naming the
    first repeated pair. Returns ratings itself when no pair is repeated. in_place: the arrays may be overwritten.
    """
    if rule not in RULES:
        raise ParameterError(f"duplicates must be one of {', '.join(RULES)}; got {rule!r}.")
    checked(ratings, repeats=False)
    if ratings._state == DISTINCT:
        return ratings
    indptr, order = grouped(ratings.users, ratings.shape[0])
    repeated = _first_repeat(indptr, order, ratings.items, ratings.shape[1])
    if repeated < 0:
        return marked(ratings, DISTINCT)
    if rule == "error":
        user, item = ratings.user_ids[ratings.users[repeated]], ratings.item_ids[ratings.items[repeated]]
        raise DataError(
            f"User {user} has rated item {item} already when it comes again as rating {repeated + 1:,}. "
            "Take the last rating with duplicates='last' (--duplicates last), or 'mean'."
        )
    columns = {name: column if in_place else column.copy() for name, column in ratings.columns().items()}
    keep = np.ones(len(ratings), dtype=np.bool_)
    for name in MERGED:
        if name in columns:
            how = MERGED[name] if rule == "mean" else LAST
            _merge(indptr, order, ratings.items, ratings.shape[1], how, columns[name], keep)
    count = np.count_nonzero(keep)
    for column in columns.values():  # items too, which `_merge` has no more use for
        _close_up(keep, column)
    merged = ratings.with_columns(**{name: column[:count] for name, column in columns.items()})
    return marked(merged, DISTINCT)


@njit
def _close_up(keep, column):
    """Move the entries that stay to the front of their array."""
    count = 0
    for at in range(len(keep)):
        if keep[at]:
            column[count] = column[at]
            count += 1


@njit
def _first_repeat(indptr, order, items, n_items):
    """The smallest position whose (row, item) pair has come before, or -1."""
    seen = np.full(n_items, -1, dtype=np.int64)
    found = np.int64(len(items))
    for row in range(len(indptr) - 1):
        for at in order[indptr[row] : indptr[row + 1]]:
            if seen[items[at]] == row:
                found = min(found, np.int64(at))
            seen[items[at]] = row
    return found if found < len(items) else np.int64(-1)


@njit
def _merge(indptr, order, items, n_items, how, column, keep):
    """Clear keep (n,) at repeats, and put a pair's last entry, their mean or sum at its first place in column (n,)."""
    seen = np.full(n_items, -1, dtype=np.int64)
    first, count = np.zeros(n_items, dtype=np.int64), np.zeros(n_items, dtype=np.int64)
    total = np.zeros(n_items, dtype=np.float64)
    for row in range(len(indptr) - 1):
        for at in order[indptr[row] : indptr[row + 1]]:
            item = items[at]
            if seen[item] != row:
                seen[item], first[item], count[item], total[item] = row, at, 1, column[at]
                continue
            count[item] += 1
            total[item] += column[at]
            keep[at] = False
            if how == LAST:
                column[first[item]] = column[at]
            else:
                column[first[item]] = total[item] / count[item] if how == MEAN else total[item]
