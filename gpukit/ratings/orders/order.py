"""Sort ratings by item and by user on one device.

Levels of rating values: distinct ones or a uniform grid.
"""

from typing import NamedTuple

import numpy as np

from gpukit.device import engine
from gpukit.errors import DataError
from gpukit.parallel import ALONE
from gpukit.ratings.orders.compressed import MOST_RATINGS, bits_of
from gpukit.ratings.orders.formulas import FREE, TABLE
from gpukit.ratings.orders.resident import ResidentRatings
from gpukit.ratings.table import DISTINCT, set_state

MOST = 254  # levels: a code of one byte has 0 for "not rated" and 255 for "nobody"


class Levels(NamedTuple):
    """Rating levels and their counts.

    values (L,) float32, ascending; exact: every rating is one of them, else ratings map to the nearest level; counts
    (L,) int64: ratings on each level.
    """

    values: np.ndarray
    exact: bool
    counts: np.ndarray


def rank_slots(table):
    """Return (values (L,) float32 ascending, ranks (2048,) uint8 of the slots).

    table (2048,) uint32: bits of the values.
    """
    used = np.flatnonzero(table != FREE)
    values = table[used].view(np.float32)
    order = np.argsort(values, kind="stable")
    ranks = np.zeros(len(table), np.uint8)
    ranks[used[order]] = np.arange(len(used), dtype=np.uint8)
    return values[order], ranks


def grid(low, high):
    """Return (values (MOST,) float32, levels per unit) of a uniform grid."""
    return np.linspace(low, high, MOST).astype(np.float32), (MOST - 1) / (float(high) - float(low))


def moments(levels):
    """Return (mean, standard deviation), float64, of ratings on exact levels."""
    share = levels.counts / max(int(levels.counts.sum()), 1)
    values = levels.values.astype(np.float64)
    mean = float(share @ values)
    return mean, float(np.sqrt(share @ (values - mean) ** 2))


class Order(NamedTuple):
    """Ratings grouped by row, on the device.

    Row r's ratings are starts[r]:starts[r + 1] of others (n,) int32 and codes (n,) uint8. starts: (rows + 1,) int64,
    with one more empty row of unknown users in by_user; indptr: starts on the host; others: rows of the other side;
    codes: level numbers.
    """

    indptr: np.ndarray
    starts: object
    others: object
    codes: object


class Orders(NamedTuple):
    """n ratings of shape (M, N) in two orders.

    levels: values of the codes. by_item: each item's ratings by level, equal ones in input order. by_user: each user's
    ratings, items ascending; its rating t is number places[t] (n,) uint32 of by_item. values: (n,) float32 by item if
    the levels are not exact, else None.
    """

    shape: tuple
    levels: Levels
    by_item: Order
    by_user: Order
    places: object
    values: object

    def __len__(self):
        return int(self.by_item.indptr[-1])


class Field(NamedTuple):
    """Part of a key: `width` bits from `shift` on.

    It stores numbers below `rows`.
    """

    shift: int
    width: int
    rows: int


class Key(NamedTuple):
    """Parts of a 64-bit key, from the lowest bits to the highest."""

    level: Field
    item: Field
    user: Field

    @property
    def end(self):
        """Number of bits in use."""
        return self.user.shift + self.user.width


def key_of(shape, n_levels):
    """Return the Key of ratings of shape (M, N); DataError beyond 64 bits."""
    fields, shift = [], 0
    for rows in (n_levels, shape[1], shape[0]):
        width = bits_of(rows)
        fields.append(Field(shift, width, rows))
        shift += width
    if shift > 64:
        raise DataError(
            f"{shape[0]:,} users x {shape[1]:,} items are too many: a rating's key would take {shift} bits."
        )
    return Key(*fields)


def order_ratings(ratings, device, team=ALONE, release=None):
    """Sort Ratings on a device (gpukit.device.Device) and return their Orders.

    team: ranks of a parallel.Team hold parts of the ratings, which may be empty; the levels and their counts are those
    of all parts. release: None, or a function that frees the ratings before the sorts if the Orders determine them; it
    returns Ratings of the same ids without rows. Raises DataError without ratings, for a rating that is not finite, a
    user or item that is not a row, and a repeated pair.
    """
    check_size(len(ratings), team)
    if isinstance(ratings, ResidentRatings) and not device.is_cuda:
        ratings = ratings.hosted()  # the GPU is too small to train there
    steps = engine(device, __package__)
    levels, codes, bits = level_codes(ratings, steps, team)
    key = key_of(ratings.shape, len(levels.values))
    keys = packed_keys(ratings, codes, key, steps)
    codes = None
    if levels.exact and release is not None:
        ratings = release()
    values = None if levels.exact else steps.owned(bits)
    bits = None  # frees 4 bytes per rating before the sorts, the peak of memory
    by_item, by_user, places, values, keys = in_both_orders(keys, key, values, steps)
    refuse_repeats(keys, key, ratings, steps)
    set_state(ratings, DISTINCT)
    levels = levels._replace(counts=team.allreduce(level_counts(by_item, levels, steps)))
    return Orders(ratings.shape, levels, by_item, by_user, places, None if levels.exact else values.view(np.float32))


def in_both_orders(keys, key, values, steps):
    """Return (by_item, by_user, places, values by item, keys by user).

    keys: (n,) uint64 in input order, overwritten; values: (n,) uint32, bits of ratings, or None.
    """
    keys, values, spare = steps.sort_by_bits(keys, 0, key.user.shift, values)
    places = steps.empty(keys.size, np.uint32)
    by_item = make_order(keys, key, (key.item, 0), key.user, places, steps)
    spare = spare[0], steps.empty(places.shape, np.uint32)
    keys, places, spare = steps.sort_by_bits(keys, key.user.shift, key.end, places, spare)
    spare = None  # 12 bytes per rating
    by_user = make_order(keys, key, (key.user, 1), key.item, steps.empty(0, np.uint32), steps)
    return by_item, by_user, places, values, keys


def check_size(count, team=ALONE):
    """Raise DataError for no ratings, or too many on this rank."""
    if not team.allreduce(np.array(count)):
        raise DataError("There are no ratings: 0 rows. Give at least one user, item, rating triple.")
    if count > MOST_RATINGS:
        raise DataError(f"{count:,} ratings are more than the {MOST_RATINGS:,} that can be ordered.")


def level_codes(ratings, steps, team=ALONE):
    """Return (Levels without counts, codes (n,) uint8, rating bits (n,) uint32).

    codes and bits are on the device.
    """
    bits = send_column(ratings, "values", steps).view(np.uint32)
    table, counts = steps.resident(np.full(TABLE, FREE), np.uint32), steps.zeros(2, np.int32)
    steps.run("enter_values", bits, MOST, table, counts)
    count, bad = steps.fetch(counts)
    crowded = count > MOST  # so not all ratings were checked
    if bad or crowded:
        refuse_not_finite(ratings.values)
    if team.size > 1:
        table, crowded = merge_rank_tables(table, crowded, steps, team)
    codes, host = steps.empty(len(ratings), np.uint8), ratings.values if crowded else None
    if crowded:
        bounds = (host.min(initial=np.inf), "min"), (host.max(initial=-np.inf), "max")
        low, high = (float(team.allreduce(*bound)) for bound in bounds)
        values, levels_a_unit = grid(low, high)
        steps.run("grid_codes", bits.view(np.float32), low, levels_a_unit, codes)
        return Levels(values, False, np.empty(0, np.int64)), codes, bits
    values, ranks = rank_slots(steps.fetch(table))
    steps.run("find_codes", bits, table, steps.resident(ranks, np.uint8), codes)
    return Levels(values, True, np.empty(0, np.int64)), codes, bits


def send_column(ratings, name, steps):
    """Return a column of Ratings on the device: (n,) int32, values float32."""
    if isinstance(ratings, ResidentRatings):
        return ratings.sent(name, steps)
    return steps.resident(getattr(ratings, name), np.float32 if name == "values" else np.int32)


def refuse_not_finite(values):
    """Raise DataError if one of values (n,) is not finite."""
    if not np.isfinite([values.min(), values.max()]).all():
        index = int(np.argmax(~np.isfinite(values)))
        raise DataError(
            f"Rating number {index + 1:,} is {values[index]}: ratings must be finite numbers. Remove such rows."
        )


def merge_rank_tables(table, crowded, steps, team):
    """Return (table of all ranks' values on the device, True if too many)."""
    slots = steps.fetch(table)
    used = np.unique(np.concatenate(team.allgather(slots[slots != FREE])))
    crowded = bool(team.allreduce(np.array(crowded), "max")) or len(used) > MOST
    table, counts = steps.resident(np.full(TABLE, FREE), np.uint32), steps.zeros(2, np.int32)
    if not crowded:
        steps.run("enter_values", steps.resident(used, np.uint32), MOST, table, counts)
    return table, crowded


def packed_keys(ratings, codes, key, steps):
    """Return keys (n,) uint64 on the device; DataError for rows out of range."""
    size, (users, items) = len(ratings), ratings.shape
    keys, wrong = steps.empty(size, np.uint64), steps.resident(np.array([size]), np.int64)
    triples = (send_column(ratings, name, steps) for name in ("users", "items"))
    steps.run("pack_keys", *triples, codes, users, items, key.item.shift, key.user.shift, keys, wrong)
    first = int(steps.fetch(wrong)[0])
    if first < size:
        raise DataError(
            f"Rating number {first + 1:,} is of user row {ratings.users[first]} and item row {ratings.items[first]}, "
            f"but there are {users:,} users and {items:,} items, whose rows count from 0."
        )
    return keys


def make_order(keys, key, row, other, places, steps, on_host=True):
    """Return the Order of sorted keys.

    row: (Field of the rows, number of empty rows at the end); other: Field of the other side; on_host: compute indptr.
    """
    size, (field, empty_rows) = keys.size, row
    others, codes = steps.empty(size, np.int32), steps.empty(size, np.uint8)
    steps.run("take_fields", keys, other.shift, other.width, key.level.width, others, codes, places)
    starts = steps.row_starts(keys, field.shift, field.width, field.rows + empty_rows)
    return Order(steps.fetch(starts) if on_host else None, starts, others, codes)


def refuse_repeats(keys, key, ratings, steps):
    """Raise DataError for a repeated pair in sorted keys."""
    position = steps.resident(np.array([keys.size]), np.int64)
    steps.run("first_repeat", keys, key.item.shift, position)
    index = int(steps.fetch(position)[0])
    if index < keys.size:
        pair = int(steps.fetch(keys[index : index + 1])[0]) >> key.item.shift
        user, item = pair >> key.item.width, pair & ((1 << key.item.width) - 1)
        raise DataError(
            f"User {ratings.user_ids[user]} has rated item {ratings.item_ids[item]} more than once. Leave one of "
            "them out, give their times, or choose where there is such an argument: duplicates='last' (--duplicates "
            "last) or 'mean'."
        )


def level_counts(order, levels, steps):
    """Return the number of ratings on each level, (L,) int64."""
    counts = steps.zeros(len(levels.values), np.int64)
    steps.run("count_codes", order.codes, counts)
    return steps.fetch(counts)
