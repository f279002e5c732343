"""Grouping ratings by row: compressed rows, and repeated (user, item) pairs. O(n), a counting sort."""

import numpy as np

from gpukit._jit import njit
from gpukit.errors import DataError, ParameterError
from gpukit.ratings.table import Ratings

RULES = ("last", "mean", "error")


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

    rule 'last': the pair's last rating in input order; 'mean': their mean (float64 inside); 'error': DataError naming
    the first repeated pair. Returns ratings itself when no pair is repeated. in_place: the arrays may be overwritten.
    """
    if rule not in RULES:
        raise ParameterError(f"duplicates must be one of {', '.join(RULES)}; got {rule!r}.")
    indptr, order = grouped(ratings.users, ratings.shape[0])
    repeated = _first_repeat(indptr, order, ratings.items, ratings.shape[1])
    if repeated < 0:
        return ratings
    if rule == "error":
        user, item = ratings.user_ids[ratings.users[repeated]], ratings.item_ids[ratings.items[repeated]]
        raise DataError(
            f"User {user} has rated item {item} already when it comes again as rating {repeated + 1:,}. "
            "Take the last rating with duplicates='last' (--duplicates last), or 'mean'."
        )
    users, items, values = ratings.users, ratings.items, ratings.values
    if not in_place:
        users, items, values = users.copy(), items.copy(), values.copy()
    keep = np.ones(len(values), dtype=np.bool_)
    _merge(indptr, order, items, ratings.shape[1], rule == "mean", values, keep)
    count = _close_up(keep, users, items, values)
    return Ratings(users[:count], items[:count], values[:count], ratings.user_ids, ratings.item_ids)


@njit
def _close_up(keep, users, items, values):
    """Move the ratings that stay to the front of their arrays; returns how many there are."""
    count = 0
    for at in range(len(keep)):
        if keep[at]:
            users[count], items[count], values[count] = users[at], items[at], values[at]
            count += 1
    return count


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
def _merge(indptr, order, items, n_items, mean, values, keep):
    """Clear keep (n,) at repeats, and put the last value or the mean of a pair at its first place in values (n,)."""
    seen = np.full(n_items, -1, dtype=np.int64)
    first, count = np.zeros(n_items, dtype=np.int64), np.zeros(n_items, dtype=np.int64)
    total = np.zeros(n_items, dtype=np.float64)
    for row in range(len(indptr) - 1):
        for at in order[indptr[row] : indptr[row + 1]]:
            item = items[at]
            if seen[item] != row:
                seen[item], first[item], count[item], total[item] = row, at, 1, values[at]
                continue
            count[item] += 1
            total[item] += values[at]
            keep[at] = False
            values[first[item]] = total[item] / count[item] if mean else values[at]
