"""The history of a model merged with new ratings, as Ratings on the host."""

from typing import NamedTuple

import numpy as np

from gpukit.errors import DataError
from gpukit.ratings.table import DISTINCT, Ratings, marked
from gpukit.scheduler import by_block

PLACES = 4  # decimals of ratings that are restored exactly, as are multiples of 1 / BINARY
BINARY = 256
ITEM = 0x7FFFFFFF  # mask of the item in a pair's key


class MergedHistory(NamedTuple):
    """Merged ratings.

    ratings: the whole history in order of (user, item), each pair once; new (n,) bool: new and corrected ratings;
    corrected: number of corrected ratings.
    """

    ratings: object
    new: np.ndarray
    corrected: int


def values_of(levels, scale):
    """Return the ratings of the levels of a History, (256,) float32.

    They are exact for ratings with up to four decimals or eight binary digits.
    """
    units = levels.astype(np.float64) * scale.deviation + scale.mean
    values = units.astype(np.float32)
    for rounded in (np.round(units, PLACES), np.round(units * BINARY) / BINARY):
        rounded = rounded.astype(np.float32)
        same = (rounded - np.float32(scale.mean)) / np.float32(scale.deviation) == levels
        values = np.where(same, rounded, values)
    return values


def drop_unchanged(history, scale, part):
    """Return inputs.NewRatings without those that a model's History (on the host) has with the same value.

    Repeated uploads, such as of a whole table, are not learned again.
    """
    at, known = np.empty(len(part), np.int64), np.empty(len(part), bool)
    find_pairs(history.indptr, history.items, pair_keys(part.users, part.items), at, known)
    same = np.flatnonzero(known)
    same = same[values_of(history.levels, scale)[history.codes[at[same]]] == part.values[same]]
    if not len(same):
        return part
    users, items, values = (np.delete(column, same) for column in (part.users, part.items, part.values))
    return type(part)(users, items, values, part.user_ids, part.item_ids)


def merged(history, scale, part, duplicates):
    """Return the MergedHistory of a model's History (on the host) and inputs.NewRatings.

    duplicates: rule for pairs in the history. 'last' takes the new rating, 'mean' the mean of both, 'error' raises
    DataError.
    """
    fresh = pair_keys(part.users, part.items)
    order = np.argsort(fresh, kind="stable")
    fresh, coming = fresh[order], part.values[order]
    at, known = np.empty(len(fresh), np.int64), np.empty(len(fresh), bool)
    find_pairs(history.indptr, history.items, fresh, at, known)
    users, items, values, is_new = columns = empty_columns(len(history.items) + np.count_nonzero(~known))
    table, new_keys = values_of(history.levels, scale), fresh[~known]
    starts = np.searchsorted(new_keys >> 32, np.arange(part.shape[0] + 1))
    merge_rows(history.indptr, history.items, history.codes, table, starts, new_keys, coming[~known], *columns)
    corrected = (at + np.cumsum(~known))[known]
    if len(corrected):
        correct_values(values, corrected, coming[known], part, fresh[known], duplicates)
        is_new[corrected] = True
    ratings = marked(Ratings(users, items, values, part.user_ids, part.item_ids), DISTINCT)
    return MergedHistory(ratings, is_new, len(corrected))


def empty_columns(n):
    """Return uninitialized (users, items (n,) int32, values (n,) float32, new (n,) bool)."""
    return tuple(np.empty(n, dtype) for dtype in (np.int32, np.int32, np.float32, bool))


@by_block(lambda keys: keys.size)
def find_pairs(start, stop, indptr, items, keys, at, known):
    """Write at[k], the position of pair keys[k] (n,) int64 in a History's items, and known[k], True if it is there.

    For missing pairs at[k] is the insertion point. Users after the History's are inserted at its end.
    """
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
    """Merge a History with new pairs in order of (user, item) into users, merged_items, values, is_new (all,).

    table: ratings of the codes; keys (n,) int64, ascending, coming (n,) float32: the new pairs and their ratings;
    starts (M + 1,): first key of each user.
    """
    for user in range(start, stop):
        row = min(user, indptr.size - 2)  # an empty row for users after the History's
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
    """Return user << 32 | item, (n,) int64."""
    return (users.astype(np.int64) << 32) | items


def correct_values(values, at, coming, part, keys, duplicates):
    """Correct values[at] by the new ratings and the rule for duplicates."""
    if duplicates == "error":
        raise DataError(already_rated(part.user_ids[keys[0] >> 32], part.item_ids[keys[0] & ITEM]))
    values[at] = coming if duplicates == "last" else (values[at] + coming) / np.float32(2)


def already_rated(user, item):
    """Return the message on a pair of ids that is in the history already."""
    return (
        f"User {user} has rated item {item} already, in the model's history. Take the new rating with "
        "duplicates='last' (--duplicates last), or 'mean'."
    )


def counts_of(ratings):
    """Return (ratings of each user (M,), of each item (N,)) int64."""
    return tuple(np.bincount(rows, minlength=n) for rows, n in zip((ratings.users, ratings.items), ratings.shape))
