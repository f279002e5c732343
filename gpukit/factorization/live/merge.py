"""New ratings sorted, looked up in the history and merged into it."""

from typing import NamedTuple

import numpy as np

from gpukit.errors import DataError
from gpukit.factorization.live.formulas import ASIDE
from gpukit.factorization.update.merge import already_rated
from gpukit.neighbors.columns import Columns
from gpukit.ratings.orders.order import key_of

MARK = 63  # bit of formulas.ASIDE


class SortedRatings(NamedTuple):
    """n new ratings by user and item.

    keys (n,) uint64 on the device; key: Key of the order; shape (M, N) of the grown model; repeated: a pair occurs
    twice; unknown: a rating is not a level.
    """

    keys: object
    key: object
    shape: tuple
    repeated: bool
    unknown: bool


class MergedPart(NamedTuple):
    """Changes of the history by new ratings.

    keys (n,) uint64 of the new pairs; columns: [(Columns, sign)] of the new ratings and, for corrected pairs, of the
    new and the old ones; fresh: ((M,), (N,)) uint8 flags of rows with their first ratings; rated (N,) uint8; corrected:
    number of corrected pairs.
    """

    keys: object
    columns: list
    fresh: tuple
    rated: object
    corrected: int


def sort_part(part, state):
    """Return the SortedRatings of inputs.NewRatings; raise DataError if their rows exceed a key."""
    steps, ordering, key = (
        state.context.live_steps,
        state.context.ordering,
        key_of(part.shape, len(state.levels.values)),
    )
    if key.end > MARK:
        raise DataError(
            f"{part.shape[0]:,} users x {part.shape[1]:,} items are too many for a live model. Update the model with "
            "partial_fit."
        )
    n = len(part)
    users, items, values = copy_columns(part, steps)
    levels = steps.resident(state.levels.values, np.float32)
    codes, keys, firsts = steps.empty(n, np.uint8), steps.empty(n, np.uint64), steps.resident(np.full(3, n), np.int64)
    steps.run("find_levels", values, levels, codes, firsts[:1])
    ordering.run("pack_keys", users, items, codes, *part.shape, key.item.shift, key.user.shift, keys, firsts[1:2])
    keys, _, _ = steps.sort_by_bits(keys, key.item.shift, key.end)
    ordering.run("first_repeat", keys, key.item.shift, firsts[2:])
    unknown, _, repeated = steps.fetch(firsts)
    return SortedRatings(keys, key, part.shape, repeated < n, unknown < n)


def copy_columns(part, steps):
    """Return (users, items (n,) int32, values (n,) float32) of inputs.NewRatings on the device."""
    columns = (part.users, np.int32), (part.items, np.int32), (part.values, np.float32)
    return [steps.resident(*column) if isinstance(column[0], np.ndarray) else column[0] for column in columns]


def look_up_pairs(new, state):
    """Return (keys (n,) uint64, at (n,) uint32, number of new pairs) of SortedRatings: new pairs first, then marked
    ones."""
    steps, (_, item, user) = state.context.live_steps, new.key
    n = new.keys.size
    at, marked, known = steps.empty(n, np.uint32), steps.empty(n, np.uint64), steps.zeros(1, np.int64)
    history = state.history.indptr, state.history.items
    steps.run("find_pairs", new.keys, user.shift, item.shift, item.width, *history, at, marked, known)
    n_known = int(steps.fetch(known)[0])
    if not n_known:
        return new.keys, at, n
    keys, at, _ = steps.sort_by_bits(marked, MARK, MARK + 1, at)
    return keys, at, n - n_known


def split_marked(marked, steps):
    """Return (keys with the unmarked ones first, number of unmarked keys); the order within both is kept."""
    keys, _, _ = steps.sort_by_bits(marked, MARK, MARK + 1)
    return keys, int(steps.fetch(steps.row_starts(keys, MARK, 1, 2))[1])


def count_flagged(flags, steps):
    """Count the flags ((M,), (N,)) uint8 of users and of items."""
    counts = steps.zeros(2, np.int64)
    for side, side_flags in enumerate(flags):
        steps.run("count_flags", side_flags, counts[side : side + 1])
    return steps.fetch(counts).tolist()


def raise_known_pair(lookup, new, part, state):
    """Raise DataError with the first pair that is in the history already."""
    keys, _, n_new = lookup
    key = int(state.context.live_steps.fetch(keys[n_new : n_new + 1])[0]) & ~int(ASIDE)
    user, item = key >> new.key.user.shift, key >> new.key.item.shift & ((1 << new.key.item.width) - 1)
    raise DataError(already_rated(part.user_ids[user], part.item_ids[item]))


def merge_part(new, lookup, state):
    """Merge SortedRatings into the history and return the MergedPart; lookup: result of `look_up_pairs`."""
    steps, (keys, at, n_new) = state.context.live_steps, lookup
    columns, corrected = [], new.keys.size - n_new
    if corrected:
        before = steps.empty(corrected, np.uint64)
        known = keys[n_new:], at[n_new:]
        steps.run("correct_codes", *known, new.key.level.width, state.history.codes, before)
        columns += [
            (columns_by_item(keys, new, state.context)[0], sign) for keys, sign in ((known[0], 1), (before, -1))
        ]
    if not n_new:
        return MergedPart(None, columns, None, None, corrected)
    fresh, rated = ([steps.empty(n, np.uint8) for n in new.shape] for _ in range(2))
    if corrected:  # a slice of a device array takes time
        keys, at = keys[:n_new], at[:n_new]
    added, starts = columns_by_item(keys, new, state.context)
    user_starts = steps.row_starts(keys, new.key.user.shift, new.key.user.width, new.shape[0] + 1)
    steps.run("tell_rows", state.history.indptr, user_starts, fresh[0], rated[0])
    steps.run("tell_rows", state.item_starts, starts, fresh[1], rated[1])
    merge(keys, at, new, (user_starts, starts), state)
    return MergedPart(keys, [(added, 1), *columns], tuple(fresh), rated[1], corrected)


def merge(keys, at, new, starts, state):
    """Insert keys (n,) into the history; at (n,): ratings of the history before each.

    starts: first key of each row of either side.
    """
    steps, (level, item, _) = state.context.live_steps, new.key
    indptr, item_starts = (steps.empty(added.shape, np.int64) for added in starts)
    steps.run("add_starts", state.history.indptr, starts[0], indptr)
    steps.run("add_starts", state.item_starts, starts[1], item_starts)
    items, codes = state._spare_arrays(len(state) + keys.size)
    old = state.history.items, state.history.codes
    steps.run("insert_records", *old, keys, at, item.shift, item.width, level.width, items, codes)
    state._set_history(indptr, items, codes)
    state.item_starts = item_starts


def columns_by_item(keys, new, context):
    """Return (Columns, first rating of each item (N + 2,) int64 on the device) of keys (n,) uint64."""
    (level, item, user), n, steps = new.key, keys.size, context.live_steps
    ordered = steps.empty(n, np.uint64)
    steps.copy(ordered, keys)
    ordered, _, _ = steps.sort_by_bits(ordered, 0, user.shift)
    users, codes = steps.empty(n, np.int32), steps.empty(n, np.uint8)
    fields = user.shift, user.width, level.width
    context.ordering.run("take_fields", ordered, *fields, users, codes, steps.empty(0, np.uint32))
    starts = steps.row_starts(ordered, item.shift, item.width, new.shape[1] + 1)
    return Columns(steps.fetch(starts)[:-1], users, codes, None), starts
