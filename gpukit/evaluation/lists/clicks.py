"""Clicks of users, and selection of valid test clicks."""

from typing import NamedTuple

import numpy as np

from gpukit.scheduler import by_block


class Clicks(NamedTuple):
    """Items that users clicked: user u's are items[indptr[u]:indptr[u + 1]].

    They ascend without repetition. indptr (M + 1,) int64, items (n,) int32.
    """

    indptr: np.ndarray
    items: np.ndarray

    def counts(self):
        """Return the number of clicks of each user, (M,) int64."""
        return np.diff(self.indptr)

    def of_items(self, n_items):
        """Return the number of clicks on each item, (n_items,) int64."""
        return np.bincount(self.items, minlength=n_items)


class LeftOut(NamedTuple):
    """Counts of test pairs that cannot be evaluated.

    pairs: all; unknown_users; unknown_items: of known users; known: from training; repeated.
    """

    pairs: int
    unknown_users: int
    unknown_items: int
    known: int
    repeated: int


def clicks_of(users, items, shape):
    """Return Clicks of pairs of rows (n,) in any order, without repetitions.

    shape: (M, N).
    """
    keys = np.unique(np.asarray(users, np.int64) * shape[1] + items)
    rows, columns = np.divmod(keys, max(1, shape[1]))
    starts = np.append(0, np.cumsum(np.bincount(rows, minlength=shape[0])))
    return Clicks(starts.astype(np.int64), columns.astype(np.int32))


def clicks_in_rows(indptr, items):
    """Return Clicks of items grouped by row; unsorted rows are sorted."""
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    if ((items[1:] > items[:-1]) | (rows[1:] > rows[:-1])).all():
        return Clicks(np.asarray(indptr, np.int64), np.asarray(items, np.int32))
    return clicks_of(rows, items, (len(indptr) - 1, int(items.max()) + 1))


def click_mask(clicks, rows, items):
    """Return a mask (B, n) of items that are clicks of the users.

    items (B, n), -1 for none; rows (B,) users.
    """
    out = np.empty(items.shape, np.bool_)
    _find(clicks.indptr, clicks.items, np.asarray(rows, np.int64), np.asarray(items, np.int32), out)
    return out


@by_block(lambda rows: len(rows))
def _find(start, stop, indptr, clicked, rows, items, out):
    for k in range(stop - start):
        line = start + k
        user_clicks = clicked[indptr[rows[line]] : indptr[rows[line] + 1]]
        for place in range(items.shape[1]):
            position = np.searchsorted(user_clicks, items[line, place])
            out[line, place] = position < len(user_clicks) and user_clicks[position] == items[line, place]


def select_judged_pairs(users, items, known, n_items, every_item=False):
    """Return (mask (n,) of test pairs that can be evaluated, LeftOut).

    users, items: rows (n,); unknown ids are negative or beyond the last row. every_item: pairs with unknown items are
    included, as misses.
    """
    n_users = len(known.indptr) - 1
    no_user = (users < 0) | (users >= n_users)
    no_item = ~no_user & ((items < 0) | (items >= n_items))
    is_known = ~(no_user | no_item)
    seen = np.zeros(len(users), np.bool_)
    seen[is_known] = click_mask(known, users[is_known], items[is_known, None])[:, 0]
    new = np.flatnonzero(is_known & ~seen)
    first = np.zeros(len(users), np.bool_)
    first[new[np.unique(users[new].astype(np.int64) * n_items + items[new], return_index=True)[1]]] = True
    is_judged = first | no_item if every_item else first
    counts = (int(np.count_nonzero(mask)) for mask in (no_user, no_item & ~is_judged, seen, is_known & ~seen & ~first))
    return is_judged, LeftOut(len(users), *counts)
