"""Repeated (user, item) pairs: found, refused or merged. O(n)."""

import numpy as np

from gpukit._jit import njit
from gpukit.errors import DataError, ParameterError
from gpukit.ratings.check import sound
from gpukit.ratings.orders.compressed import grouped
from gpukit.ratings.table import DISTINCT, marked

RULES = ("last", "mean", "error")
LAST, MEAN, SUM = range(3)  # what becomes of a pair's entries in one column
MERGED = {"values": MEAN, "weights": MEAN, "counts": SUM, "times": LAST}  # by rule 'mean'


def checked(ratings, repeats=True):
    """ratings, or DataError for what cannot be a table of ratings; with repeats, also for a (user, item) pair that
    stands there twice."""
    return without_repeats(ratings, "error") if repeats else sound(ratings)


def without_repeats(ratings, rule, in_place=False):
    """ratings with each (user, item) pair once, at the place of its first appearance.

    rule 'last': the pair's last rating in input order, with all that belongs to it; 'mean': their mean (float64
    inside), the mean of their weights, the sum of their counts, the last one's time; 'error': DataError naming the
    first repeated pair. Returns ratings itself when no pair is repeated. in_place: the arrays may be overwritten.
    """
    if rule not in RULES:
        raise ParameterError(f"duplicates must be one of {', '.join(RULES)}; got {rule!r}.")
    sound(ratings)
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
