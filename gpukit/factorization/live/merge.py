"""New ratings enter: sorted by themselves, found in the history or merged into it."""

from typing import NamedTuple

import numpy as np

from gpukit.errors import DataError
from gpukit.factorization.live.formulas import ASIDE
from gpukit.factorization.update.merge import already_rated
from gpukit.neighbors.columns import Columns
from gpukit.ratings.orders.order import key_of

MARK = 63  # the bit of formulas.ASIDE


class Sorted(NamedTuple):
    """n new ratings by user and item: keys (n,) uint64 on the device, the order's Key, shape (M, N) with them; whether
    a pair comes twice, whether a rating is no level."""

    keys: object
    key: object
    shape: tuple
    repeated: bool
    unknown: bool


class Entered(NamedTuple):
    """What a part did to the history: keys (n,) uint64 of the pairs that were not there; columns, and of pairs that
    were corrected those of the new and of the old ratings: [(Columns, sign)]; fresh: ((M,), (N,)) uint8 flags of rows
    with ratings for the first time; rated (N,) uint8; corrected: how many were."""

    keys: object
    columns: list
    fresh: tuple
    rated: object
    corrected: int


def sort_part(part, held):
    """The Sorted of inputs.NewRatings, its pairs in any order; DataError for more than a key holds."""
    own, ordering, key = held.work.own, held.work.ordering, key_of(part.shape, len(held.levels.values))
    if key.end > MARK:
        raise DataError(f"{part.shape[0]:,} users x {part.shape[1]:,} items are too many to be kept live.")
    n = len(part)
    users, items, values = there(part, own)
    levels = own.resident(held.levels.values, np.float32)
    codes, keys, found = own.empty(n, np.uint8), own.empty(n, np.uint64), own.resident(np.full(3, n), np.int64)
    own.run("find_levels", values, levels, codes, found[:1])
    ordering.run("pack_keys", users, items, codes, *part.shape, key.item.shift, key.user.shift, keys, found[1:2])
    keys, _, _ = own.sort_by_bits(keys, key.item.shift, key.end)
    ordering.run("first_repeat", keys, key.item.shift, found[2:])
    unknown, _, repeated = own.fetch(found)
    return Sorted(keys, key, part.shape, repeated < n, unknown < n)


def there(part, own):
    """(users, items (n,) int32, values (n,) float32) of inputs.NewRatings on the device."""
    columns = (part.users, np.int32), (part.items, np.int32), (part.values, np.float32)
    return [own.resident(*one) if isinstance(one[0], np.ndarray) else one[0] for one in columns]


def look_up(new, held):
    """(keys (n,) uint64, at (n,) uint32, how many pairs are not in the history) of a Sorted: these first, in order,
    then the others, marked."""
    own, (_, item, user) = held.work.own, new.key
    n = new.keys.size
    at, marked, known = own.empty(n, np.uint32), own.empty(n, np.uint64), own.zeros(1, np.int64)
    history = held.history.indptr, held.history.items
    own.run("find_pairs", new.keys, user.shift, item.shift, item.width, *history, at, marked, known)
    n_known = int(own.fetch(known)[0])
    if not n_known:
        return new.keys, at, n
    keys, at, _ = own.sort_by_bits(marked, MARK, MARK + 1, at)
    return keys, at, n - n_known


def parted(marked, own):
    """(keys, how many are not marked): those first, then the marked ones, each in their order."""
    keys, _, _ = own.sort_by_bits(marked, MARK, MARK + 1)
    return keys, int(own.fetch(own.row_starts(keys, MARK, 1, 2))[1])


def flagged(flags, own):
    """[users, items]: how many of flags ((M,), (N,)) uint8 are set."""
    counts = own.zeros(2, np.int64)
    for side, mine in enumerate(flags):
        own.run("count_flags", mine, counts[side : side + 1])
    return own.fetch(counts).tolist()


def refuse_known(found, new, part, held):
    """DataError that names the first pair which is in the history already."""
    keys, _, n_new = found
    key = int(held.work.own.fetch(keys[n_new : n_new + 1])[0]) & ~int(ASIDE)
    user, item = key >> new.key.user.shift, key >> new.key.item.shift & ((1 << new.key.item.width) - 1)
    raise DataError(already_rated(part.user_ids[user], part.item_ids[item]))


def enter(new, found, held):
    """The Entered of a Sorted of which `look_up` found (keys, at, n_new); the Held has it in its history then."""
    own, (keys, at, n_new) = held.work.own, found
    columns, corrected = [], new.keys.size - n_new
    if corrected:
        before = own.empty(corrected, np.uint64)
        known = keys[n_new:], at[n_new:]
        own.run("correct_codes", *known, new.key.level.width, held.history.codes, before)
        columns += [(columns_by_item(keys, new, held.work)[0], sign) for keys, sign in ((known[0], 1), (before, -1))]
    if not n_new:
        return Entered(None, columns, None, None, corrected)
    fresh, rated = ([own.empty(n, np.uint8) for n in new.shape] for _ in range(2))
    if corrected:  # a view is not for nothing
        keys, at = keys[:n_new], at[:n_new]
    added, starts = columns_by_item(keys, new, held.work)
    user_starts = own.row_starts(keys, new.key.user.shift, new.key.user.width, new.shape[0] + 1)
    own.run("tell_rows", held.history.indptr, user_starts, fresh[0], rated[0])
    own.run("tell_rows", held.item_starts, starts, fresh[1], rated[1])
    merge(keys, at, new, (user_starts, starts), held)
    return Entered(keys, [(added, 1), *columns], tuple(fresh), rated[1], corrected)


def merge(keys, at, new, starts, held):
    """Put keys (n,), with at (n,) of the history's ratings before them, into the history; starts: where the rows of
    either side begin in them."""
    own, (level, item, _) = held.work.own, new.key
    indptr, item_starts = (own.empty(added.shape, np.int64) for added in starts)
    own.run("add_starts", held.history.indptr, starts[0], indptr)
    own.run("add_starts", held.item_starts, starts[1], item_starts)
    items, codes = held.room(len(held) + keys.size)
    old = held.history.items, held.history.codes
    own.run("insert_records", *old, keys, at, item.shift, item.width, level.width, items, codes)
    held.turn(indptr, items, codes)
    held.item_starts = item_starts


def columns_by_item(keys, new, work):
    """(Columns, where each item begins (N + 2,) int64 on the device) of keys (n,) uint64, which stay as they are."""
    (level, item, user), n, own = new.key, keys.size, work.own
    ordered = own.empty(n, np.uint64)
    own.copy(ordered, keys)
    ordered, _, _ = own.sort_by_bits(ordered, 0, user.shift)
    users, codes = own.empty(n, np.int32), own.empty(n, np.uint8)
    fields = user.shift, user.width, level.width
    work.ordering.run("take_fields", ordered, *fields, users, codes, own.empty(0, np.uint32))
    starts = own.row_starts(ordered, item.shift, item.width, new.shape[1] + 1)
    return Columns(own.fetch(starts)[:-1], users, codes, None), starts
