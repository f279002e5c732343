"""New ratings sorted, compared with the stored ones and merged into them; the host steps of both devices."""

from typing import NamedTuple

import numpy as np

from gpukit.errors import DataError
from gpukit.factorization.online.inputs import NewRatings
from gpukit.factorization.prepare.formulas import ASIDE, KNOWN
from gpukit.neighbors.plan import Columns
from gpukit.ratings.orders.order import Key, key_of

MARK = int(KNOWN).bit_length() - 1  # first bit of the marks KNOWN and ASIDE


class SortedBatch(NamedTuple):
    """n new ratings by user and item.

    keys (n,) uint64 on the device; key: Key of the order; shape (M, N) of the grown model; has_repeats: a pair occurs
    twice; has_unknown: a rating is not a level.
    """

    keys: object
    key: Key
    shape: tuple
    has_repeats: bool
    has_unknown: bool


class Changes(NamedTuple):
    """Changes of the stored ratings by new ones: n_new new pairs, then n_corrected known pairs with another rating.

    keys (n,) uint64, the last ones marked, and at (n,) uint32, position in the history or insertion point, on the
    device; key: Key of the order; shape (M, N) of the grown model.
    """

    keys: object
    at: object
    n_new: int
    n_corrected: int
    key: Key
    shape: tuple

    def __len__(self):
        return self.n_new + self.n_corrected


class MergedBatch(NamedTuple):
    """What a merge changed.

    keys (n,) uint64 of the new pairs, None without any; columns: [(Columns, sign)] of the new ratings and, for
    corrected pairs, of the new and the old ones; fresh ((M,), (N,)) uint8: rows with their first ratings, None without
    new pairs; rated (N,) uint8.
    """

    keys: object
    columns: list
    fresh: tuple
    rated: object


def sort_batch(batch, ratings):
    """Return the SortedBatch of inputs.NewRatings for DeviceRatings; raise DataError if their rows exceed a key."""
    steps, ordering, key = ratings.steps, ratings.ordering, key_of(batch.shape, len(ratings.levels.values))
    if key.end > MARK:
        users, items = batch.shape
        raise DataError(f"{users:,} users x {items:,} items are too many for an update. Train again with all ratings.")
    n = len(batch)
    columns = (batch.users, np.int32), (batch.items, np.int32), (batch.values, np.float32)
    users, items, values = (
        steps.resident(*column) if isinstance(column[0], np.ndarray) else column[0] for column in columns
    )
    levels = steps.resident(ratings.levels.values, np.float32)
    codes, keys, firsts = steps.empty(n, np.uint8), steps.empty(n, np.uint64), steps.resident(np.full(3, n), np.int64)
    steps.run("find_levels", values, levels, codes, firsts[:1])
    ordering.run("pack_keys", users, items, codes, *batch.shape, key.item.shift, key.user.shift, keys, firsts[1:2])
    keys, _, _ = steps.sort_by_bits(keys, key.item.shift, key.end)
    ordering.run("first_repeat", keys, key.item.shift, firsts[2:])
    unknown, _, repeated = steps.fetch(firsts)
    return SortedBatch(keys, key, batch.shape, repeated < n, unknown < n)


def find_changes(batch, new, ratings, duplicates, keep_unchanged=False):
    """Return the Changes of DeviceRatings by inputs.NewRatings, each pair once; new: their SortedBatch.

    duplicates: rule for known pairs: 'last' takes the new rating, 'mean' the mean of both, 'error' raises DataError.
    Ratings that are known with the same value are left out unless keep_unchanged. New rating values, and means, become
    levels of the ratings.
    """
    positions, marked, n_known = look_up_pairs(new, ratings)
    if n_known and duplicates == "error":
        raise_known_pair(marked, new, batch, ratings)
    if new.has_unknown or (n_known and duplicates == "mean"):
        batch = apply_rule(batch, positions, marked, ratings, duplicates)
        new = sort_batch(NewRatings(*batch[:2], ratings.extend_levels(batch.values), *batch[3:]), ratings)
        positions, marked, n_known = look_up_pairs(new, ratings)
    return split_changes(new, (positions, marked, n_known), ratings.steps, keep_unchanged)


def look_up_pairs(new, ratings):
    """Return (positions (n,) uint32, marked (n,) uint64, number of known pairs), see kernels.find_pairs."""
    steps, (level, item, user), n = ratings.steps, new.key, new.keys.size
    positions, marked, known = steps.empty(n, np.uint32), steps.empty(n, np.uint64), steps.zeros(1, np.int64)
    fields = user.shift, item.shift, item.width, level.width
    steps.run("find_pairs", new.keys, *fields, ratings.history, positions, marked, known)
    return positions, marked, int(steps.fetch(known)[0])


def raise_known_pair(marked, new, batch, ratings):
    """Raise DataError with the first pair that is in the history already."""
    marked = ratings.steps.fetch(marked)
    user, item = rows_of_keys(marked[marked >= KNOWN][:1], new.key)
    raise DataError(
        f"User {batch.user_ids[user[0]]} has rated item {batch.item_ids[item[0]]} already, in the model's history. "
        "Take the new rating with duplicates='last' (--duplicates last), or 'mean'."
    )


def rows_of_keys(keys, key):
    """Return (users, items) int64 of keys (n,) uint64 on the host, marked or not."""
    pairs = (keys & ~(ASIDE | KNOWN)).astype(np.int64) >> key.item.shift
    return pairs >> key.item.width, pairs & ((1 << key.item.width) - 1)


def apply_rule(batch, positions, marked, ratings, duplicates):
    """Return NewRatings on the host in order of (user, item), with the values of the rule for known pairs.

    positions, marked: result of `look_up_pairs`.
    """
    fetch = ratings.steps.fetch
    columns = [column if isinstance(column, np.ndarray) else fetch(column) for column in batch[:3]]
    users, items, values = (column[np.lexsort((columns[1], columns[0]))] for column in columns)
    if duplicates == "mean":
        known = fetch(marked) >= KNOWN
        stored = ratings.levels.values[fetch(ratings.history.codes)[fetch(positions)[known]] - 1]
        values[known] = (stored + values[known]) / np.float32(2)
    return NewRatings(users, items, values, *batch[3:])


def split_changes(new, lookup, steps, keep_unchanged):
    """Return the Changes of a SortedBatch; lookup: result of `look_up_pairs`."""
    (positions, marked, n_known), n = lookup, new.keys.size
    if not n_known:
        return Changes(new.keys, positions, n, 0, new.key, new.shape)
    keys, positions, _ = steps.sort_by_bits(marked, MARK, MARK + 2, positions)
    _, n_new, changed, _ = steps.fetch(steps.row_starts(keys, MARK, 2, 3)).tolist()
    end = n if keep_unchanged else changed
    if end < n:  # a slice of a device array takes time
        keys, positions = keys[:end], positions[:end]
    return Changes(keys, positions, n_new, end - n_new, new.key, new.shape)


def merge_changes(changes, ratings):
    """Merge Changes into DeviceRatings; return the MergedBatch."""
    steps, n_new, columns, keys, positions = ratings.steps, changes.n_new, [], changes.keys, changes.at
    if changes.n_corrected:
        before = steps.empty(changes.n_corrected, np.uint64)
        known = keys[n_new:], positions[n_new:]
        steps.run("correct_codes", *known, changes.key.level.width, ratings.history.codes, before)
        columns += [(columns_by_item(keys, changes, ratings)[0], sign) for keys, sign in ((known[0], 1), (before, -1))]
    if not n_new:
        return MergedBatch(None, columns, None, None)
    fresh, rated = ([steps.empty(n, np.uint8) for n in changes.shape] for _ in range(2))
    if changes.n_corrected:
        keys, positions = keys[:n_new], positions[:n_new]
    added, starts = columns_by_item(keys, changes, ratings)
    user = changes.key.user
    user_starts = steps.row_starts(keys, user.shift, user.width, changes.shape[0] + 1)
    steps.run("flag_rows", ratings.history.indptr, user_starts, fresh[0], rated[0])
    steps.run("flag_rows", ratings.item_starts, starts, fresh[1], rated[1])
    insert_pairs(keys, positions, changes.key, (user_starts, starts), ratings)
    return MergedBatch(keys, [(added, 1), *columns], tuple(fresh), rated[1])


def insert_pairs(keys, positions, key, starts, ratings):
    """Insert keys (n,) into the history; positions (n,): ratings of the history before each.

    starts: first key of each row of either side.
    """
    steps, (level, item, _) = ratings.steps, key
    indptr, item_starts = (steps.empty(added.shape, np.int64) for added in starts)
    steps.run("add_starts", ratings.history.indptr, starts[0], indptr)
    steps.run("add_starts", ratings.item_starts, starts[1], item_starts)
    items, codes = ratings.spare_arrays(len(ratings) + keys.size)
    old = ratings.history.items, ratings.history.codes
    steps.run("insert_records", *old, keys, positions, item.shift, item.width, level.width, items, codes)
    ratings.replace(indptr, items, codes, item_starts)


def columns_by_item(keys, changes, ratings):
    """Return (Columns, first rating of each item (N + 2,) int64 on the device) of keys (n,) uint64."""
    (level, item, user), n, steps = changes.key, keys.size, ratings.steps
    ordered = steps.empty(n, np.uint64)
    steps.copy(ordered, keys)
    ordered, _, _ = steps.sort_by_bits(ordered, 0, user.shift)
    users, codes = steps.empty(n, np.int32), steps.empty(n, np.uint8)
    fields = user.shift, user.width, level.width
    ratings.ordering.run("take_fields", ordered, *fields, users, codes, steps.empty(0, np.uint32))
    starts = steps.row_starts(ordered, item.shift, item.width, changes.shape[1] + 1)
    return Columns(steps.fetch(starts)[:-1], users, codes, None), starts


def changed_rows(changes, steps):
    """Return (users, items) (n,) int64 of Changes, on the host."""
    return rows_of_keys(steps.fetch(changes.keys)[: len(changes)], changes.key)


def changed_values(changes, ratings):
    """Return the ratings (n,) float32 of Changes, on the host."""
    levels = ratings.steps.fetch(changes.keys)[: len(changes)] & np.uint64((1 << changes.key.level.width) - 1)
    return ratings.levels.values[levels.astype(np.int64)]


def merged_places(changes, steps):
    """Return the positions (n,) int64 of Changes in the merged history, on the host."""
    positions, n_new = steps.fetch(changes.at)[: len(changes)].astype(np.int64), changes.n_new
    new, corrected = positions[:n_new], positions[n_new:]
    return np.concatenate((new + np.arange(n_new), corrected + np.searchsorted(new, corrected, side="right")))


def merged_ratings(changes, ratings, ids):
    """Return (Ratings of a merged history on the host, (n,) bool of the changed ones); ids: of users, of items."""
    whole = ratings.to_ratings(*ids)
    is_changed = np.zeros(len(whole), bool)
    is_changed[merged_places(changes, ratings.steps)] = True
    return whole, is_changed
