"""Samples, folds and row numbers that do not depend on the order of rows and ids.

They follow the order of keys, which are hashes of the content. A document's key is a hash of its row, a query's one of
its documents' keys.

A user's or an item's key is a hash of the keys that it is paired with (colour refinement, Weisfeiler and Leman
1968). Equal keys belong to rows that are paired alike, and these can be exchanged.
"""

import numpy as np

from gpukit._pool import map_row_blocks
from gpukit.io.ids import take_values

MANY_TIMES = 4  # the limit of a sample: from as many ratings on, users are thinned before their keys are computed


def keys_of(users, items, shape, seed=0, values=None):
    """Return keys of users (M,) and of items (N,), uint64.

    Parameters
    ----------
    users, items : (n,) int, the pairs
    shape : (M, N)
    seed : int, mixed into the keys; another seed gives another order
    values : (n,) float or None, of the pairs
    """
    rounds, hash_bits = 3, 24  # sums of hashes over up to 2**29 pairs of a row are exact in float64
    start = np.uint64(seed % 2**63)
    sides, keys = (users, items), [np.full(size, start) for size in shape]
    bits = None if values is None else hash_floats(values)
    for _ in range(rounds):
        for side, other in ((0, 1), (1, 0)):
            hashes = hash_numbers(keys[other])[sides[other]]
            hashes = hashes if values is None else hash_numbers(hashes ^ bits)
            weights = (hashes >> np.uint64(64 - hash_bits)).astype(np.float64)
            keys[side] = np.bincount(sides[side], weights, shape[side]).astype(np.uint64)
    return [hash_numbers(key) for key in keys]


def hash_numbers(keys):
    """Return a hash of uint64 numbers: the last steps of splitmix64."""
    with np.errstate(over="ignore"):
        keys = keys + np.uint64(0x9E3779B97F4A7C15)
        keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def hash_floats(values):
    """Return a hash of numbers as float64; 0 and -0 have the same."""
    return hash_numbers(bits_of(values))


def bits_of(values):
    """Return the bits of numbers as float64, uint64, the upper half also in the lower half; 0 of 0 and of -0."""
    bits = (np.asarray(values, np.float64) + 0.0).view(np.uint64)
    return bits ^ (bits >> np.uint64(32))


def hash_rows(X):
    """Return a hash of each row of a matrix (l, n), (l,) uint64; the same for dense and CSR."""
    factors = hash_numbers(np.arange(X.shape[1], dtype=np.uint64)) | np.uint64(1)
    if hasattr(X, "indptr"):
        sums = np.cumsum(np.append(np.uint64(0), bits_of(X.data) * factors[X.indices]), dtype=np.uint64)
        return hash_numbers(np.diff(sums[X.indptr]))
    return hash_numbers(np.concatenate(map_row_blocks(lambda rows: bits_of(X[rows]) @ factors, X.shape)))


def hash_groups(keys, offsets):
    """Return a hash of the keys of each group, (m,) uint64, whatever their order.

    Parameters
    ----------
    keys : (l,) uint64, grouped
    offsets : (m + 1,) int, of the groups
    """
    return hash_numbers(np.diff(np.cumsum(np.append(np.uint64(0), keys), dtype=np.uint64)[offsets]))


def order_by_values(rows):
    """Return an order of rows that does not depend on their numbers.

    Rows are sorted by a fixed random projection of their differences from their means, so the order stays the same in
    other units, and almost the same if few values change. Equal rows keep their order.

    Parameters
    ----------
    rows : (N, K) float64, NaN where missing
    """
    position, is_present = np.arange(rows.shape[1], dtype=np.uint64), ~np.isnan(rows)
    weights = hash_numbers(position) / 2.0**64 - 0.5
    values, count = np.where(is_present, rows, 0.0), is_present.sum(axis=1)
    mean = values.sum(axis=1) / np.maximum(count, 1)
    projection = (np.where(is_present, rows - mean[:, None], 0.0) * weights).sum(axis=1)
    return np.lexsort(((is_present * weights).sum(axis=1), mean, projection, count == 0))


def choose_users(users, keys, limit, least=1):
    """Return a mask (M,) of users, the first in the order of their keys, that have at most `limit` pairs.

    Parameters
    ----------
    users : (n,) int, the user of each pair
    keys : (M,) uint64, see `keys_of`
    limit : int, pairs
    least : int, users that are chosen even if they have more pairs
    """
    counts = np.bincount(users, minlength=len(keys))
    order = np.argsort(keys, kind="stable")
    order = order[counts[order] > 0]
    chosen = np.zeros(len(keys), np.bool_)
    chosen[order[: max(least, np.searchsorted(np.cumsum(counts[order]), limit, side="right"))]] = True
    return chosen


def draw_sample(ratings, seed, limit, least=1):
    """Return Ratings with all ratings of some users, numbered and sorted by keys.

    Neither the users nor the numbers depend on the order of ratings. If ratings are not many more than `limit`, they do
    not depend on ids either; otherwise a subset of the users is drawn first by their row numbers, because keys of all
    would take longer than a training.

    Parameters
    ----------
    ratings : Ratings
    seed : int; another seed draws other users
    limit : int, ratings
    least : int, users that are drawn even if they have more ratings
    """
    ratings = thin_users(ratings, seed, MANY_TIMES * limit, least)
    values = ratings.values if np.ptp(ratings.values) else None
    keys = keys_of(ratings.users, ratings.items, ratings.shape, seed, values)
    ratings = ratings.take(take_values(choose_users(ratings.users, keys[0], limit, least), ratings.users))
    (users, n_users), (items, n_items) = renumber(ratings.users, keys[0]), renumber(ratings.items, keys[1])
    order = np.lexsort((items, users))
    columns = {name: column[order] for name, column in ratings.columns().items()}
    columns = {**columns, "users": users[order], "items": items[order]}
    return type(ratings)(**columns, user_ids=np.arange(n_users), item_ids=np.arange(n_items))


def thin_users(ratings, seed, limit, least):
    """Return the Ratings of random users, about `limit` ratings, or all if there are no more.

    One pass over the column of users finds their ratings; only these are copied.
    """
    if len(ratings) <= limit:
        return ratings
    mask = thinned_users(len(ratings), ratings.shape[0], seed, limit, least)
    return ratings.take(take_values(mask, ratings.users))


def thinned_users(n, users, seed, limit, least=1):
    """Return a mask (users,) of random users that have about `limit` of n ratings; all if there are no more.

    Those of a lower limit are among those of a higher one.
    """
    count = users if n <= limit else max(least, users * limit // n)
    if count >= users:
        return np.ones(users, np.bool_)
    keys = hash_numbers(hash_numbers(np.arange(users, dtype=np.uint64)) ^ np.uint64(seed % 2**63))
    return keys < np.partition(keys, count)[count]


def renumber(rows, keys):
    """Return new numbers (n,) int32 of rows, counted from 0 in the order of their keys; and how many there are."""
    order = np.argsort(keys, kind="stable")
    present = np.zeros(len(keys), np.bool_)
    present[rows] = True
    order = order[present[order]]
    numbers = np.full(len(keys), -1, np.int32)
    numbers[order] = np.arange(len(order), dtype=np.int32)
    return numbers[rows], len(order)
