"""The history of a model with new ratings in it, as Ratings; on the host."""

from typing import NamedTuple

import numpy as np

from gpukit.errors import DataError
from gpukit.ratings.table import DISTINCT, Ratings, marked
from gpukit.scheduler import by_block

PLACES = 4  # decimals of the ratings that are restored exactly, beside multiples of 1 / BINARY
BINARY = 256
ITEM = 0x7FFFFFFF  # the lower half of a pair's key


class Merged(NamedTuple):
    """ratings: the whole history in order of (user, item), each pair once; new (n,) bool: which of them came now, or
    were corrected; corrected: how many were."""

    ratings: object
    new: np.ndarray
    corrected: int


def values_of(levels, scale):
    """(256,) float32: the ratings that the levels of a History stand for, exactly as they were read where they have up
    to four decimals, or eight binary ones."""
    units = levels.astype(np.float64) * scale.deviation + scale.mean
    values = units.astype(np.float32)
    for plain in (np.round(units, PLACES), np.round(units * BINARY) / BINARY):
        plain = plain.astype(np.float32)
        same = (plain - np.float32(scale.mean)) / np.float32(scale.deviation) == levels
        values = np.where(same, plain, values)
    return values


def changes(history, scale, part):
    """inputs.NewRatings without those that a model's History (on the host) has as they are: what comes again, as when a
    night is told twice or a whole table is handed on, is nothing to learn from."""
    at, known = np.empty(len(part), np.int64), np.empty(len(part), bool)
    find_pairs(history.indptr, history.items, pair_keys(part.users, part.items), at, known)
    same = np.flatnonzero(known)
    same = same[values_of(history.levels, scale)[history.codes[at[same]]] == part.values[same]]
    if not len(same):
        return part
    users, items, values = (np.delete(column, same) for column in (part.users, part.items, part.values))
    return type(part)(users, items, values, part.user_ids, part.item_ids)


def merged(history, scale, part, duplicates):
    """The Merged of a model's History (on the host) and inputs.NewRatings.

    A pair that is there already is corrected by rule `duplicates`: 'last' takes the new rating, 'mean' the mean of
    both, 'error' raises DataError.
    """
    fresh = pair_keys(part.users, part.items)
    order = np.argsort(fresh, kind="stable")
    fresh, coming = fresh[order], part.values[order]
    at, known = np.empty(len(fresh), np.int64), np.empty(len(fresh), bool)
    find_pairs(history.indptr, history.items, fresh, at, known)
    users, items, values, is_new = columns = empty_columns(len(history.items) + np.count_nonzero(~known))
    table, own = values_of(history.levels, scale), fresh[~known]
    starts = np.searchsorted(own >> 32, np.arange(part.shape[0] + 1))
    merge_rows(history.indptr, history.items, history.codes, table, starts, own, coming[~known], *columns)
    corrected = (at + np.cumsum(~known))[known]
    if len(corrected):
        correct(values, corrected, coming[known], part, fresh[known], duplicates)
        is_new[corrected] = True
    ratings = marked(Ratings(users, items, values, part.user_ids, part.item_ids), DISTINCT)
    return Merged(ratings, is_new, len(corrected))


def empty_columns(n):
    """(users, items (n,) int32, values (n,) float32, new (n,) bool), not yet filled."""
    return tuple(np.empty(n, dtype) for dtype in (np.int32, np.int32, np.float32, bool))


@by_block(lambda keys: keys.size)
def find_pairs(start, stop, indptr, items, keys, at, known):
    """at[k] = the place in a History's items of the pair keys[k] (n,) int64, or where it would stand; known[k]: whether
    it is there. Users beyond the History's stand behind it."""
    for k in range(start, stop):
        user, item = keys[k] >> 32, keys[k] & ITEM
        low, high = (indptr[user], indptr[user + 1]) if user < indptr.size - 2 else (items.size, items.size)
        end = high
        while low < high:
            middle = (low + high) // 2
            if items[middle] < item:
                low = middle + 1
            else:
                high = middle
        at[k], known[k] = low, low < end and items[low] == item


@by_block(lambda starts: starts.size - 1)
def merge_rows(start, stop, indptr, items, codes, table, starts, keys, coming, users, merged_items, values, is_new):
    """The ratings of a History, whose values are table[codes], and others of pairs that are not there, in order of
    (user, item): users, merged_items, values, is_new (all,) are overwritten.

    keys (n,) int64, rising, coming (n,) float32; starts (M + 1,): where the keys of each user begin.
    """
    for user in range(start, stop):
        row = min(user, indptr.size - 2)  # an empty one for users beyond the History's
        old, end, new = indptr[row], indptr[row + 1], starts[user]
        for t in range(old + new, end + starts[user + 1]):
            is_own = new < starts[user + 1] and (old == end or (keys[new] & ITEM) < items[old])
            users[t], is_new[t] = user, is_own
            if is_own:
                merged_items[t], values[t] = keys[new] & ITEM, coming[new]
                new += 1
            else:
                merged_items[t], values[t] = items[old], table[codes[old]]
                old += 1


def pair_keys(users, items):
    """(n,) int64: user | item, the user in the upper half."""
    return (users.astype(np.int64) << 32) | items


def correct(values, at, coming, part, keys, duplicates):
    """values[at] = what the coming ratings make of them, by rule."""
    if duplicates == "error":
        raise DataError(already_rated(part.user_ids[keys[0] >> 32], part.item_ids[keys[0] & ITEM]))
    values[at] = coming if duplicates == "last" else (values[at] + coming) / np.float32(2)


def already_rated(user, item):
    """The line on a pair of ids that is in the history already."""
    return (
        f"User {user} has rated item {item} already, in what the model has learned from. Take the new rating with "
        "duplicates='last' (--duplicates last), or 'mean'."
    )


def counts_of(ratings):
    """(ratings of each user (M,), of each item (N,)) int64."""
    return tuple(np.bincount(rows, minlength=n) for rows, n in zip((ratings.users, ratings.items), ratings.shape))
