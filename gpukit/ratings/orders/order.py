"""`order_ratings`: ratings sorted by item and by user on one device, each sort once."""

from typing import NamedTuple

import numpy as np

from gpukit.device import engine
from gpukit.errors import DataError
from gpukit.parallel import ALONE
from gpukit.ratings.orders import levels as leveling
from gpukit.ratings.orders.formulas import FREE, TABLE
from gpukit.ratings.orders.levels import Levels
from gpukit.ratings.orders.resident import ResidentRatings
from gpukit.ratings.table import DISTINCT, marked

MOST_RATINGS = (1 << 32) - 1  # places are 32-bit numbers


class Order(NamedTuple):
    """Ratings grouped by row: row r's are starts[r]:starts[r + 1] of others (n,) int32 and codes (n,) uint8.

    starts (rows + 1,) int64, and for users one more: an empty row for those that are unknown; indptr is starts on the
    host. others: the other side's rows; codes: numbers of levels. All but
    indptr lie on the device.
    """

    indptr: np.ndarray
    starts: object
    others: object
    codes: object


class Orders(NamedTuple):
    """n ratings of shape (M, N) in two orders.

    levels: what codes stand for. by_item: each item's ratings by level, equal ones in the order of the input. by_user:
    each user's, items ascending; its rating t is number places[t] (n,) uint32 of by_item. values (n,) float32 by item
    where the levels do not tell exactly, else None.
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
    """Where a part of a key lies: the `width` bits from `shift` on; rows: how many numbers it tells apart."""

    shift: int
    width: int
    rows: int


class Key(NamedTuple):
    """The parts of a 64-bit key, from the lowest bits to the highest."""

    level: Field
    item: Field
    user: Field

    @property
    def end(self):
        """Bits in use."""
        return self.user.shift + self.user.width


def key_of(shape, n_levels):
    """The Key of ratings of shape (M, N) on so many levels; DataError where 64 bits do not do."""
    fields, shift = [], 0
    for rows in (n_levels, shape[1], shape[0]):
        width = max(1, (rows - 1).bit_length())
        fields.append(Field(shift, width, rows))
        shift += width
    if shift > 64:
        raise DataError(
            f"{shape[0]:,} users x {shape[1]:,} items are too many: a rating's key would take {shift} bits."
        )
    return Key(*fields)


def order_ratings(ratings, device, team=ALONE):
    """The Orders of a Ratings on a device (a gpukit.device.Device); of a parallel.Team whose ranks have parts of the
    ratings, some perhaps none, the levels and how many ratings are on each are those of all parts.

    Raises DataError without ratings, for a rating that is not finite, a user or item that is not a row, and for a pair
    that is rated twice.
    """
    check_size(len(ratings), team)
    steps = engine(device, __package__)
    levels, codes, bits = level_codes(ratings, steps, team)
    key = key_of(ratings.shape, len(levels.values))
    keys = packed_keys(ratings, codes, key, steps)
    codes = None
    values = None if levels.exact else steps.owned(bits)
    bits = None  # 4 bytes a rating, while the sorts take the most
    by_item, by_user, places, values, keys = in_both_orders(keys, key, values, steps)
    refuse_repeats(keys, key, ratings, steps)
    marked(ratings, DISTINCT)
    levels = levels._replace(counts=team.allreduce(level_counts(by_item, levels, steps)))
    return Orders(ratings.shape, levels, by_item, by_user, places, None if levels.exact else values.view(np.float32))


def in_both_orders(keys, key, values, steps, of_users=True):
    """(by_item, by_user, places, values by item, keys by user) of keys (n,) uint64 in their order in the input, which
    are overwritten; values (n,) uint32, bits of ratings, or None; of_users: whether by_user's indptr is wanted."""
    keys, values, spare = steps.sort_by_bits(keys, 0, key.user.shift, values)
    places = steps.empty(keys.size, np.uint32)
    by_item = taken(keys, key, (key.item, 0), key.user, places, steps)
    spare = spare[0], steps.empty(places.shape, np.uint32)
    keys, places, spare = steps.sort_by_bits(keys, key.user.shift, key.end, places, spare)
    by_user = taken(keys, key, (key.user, 1), key.item, steps.empty(0, np.uint32), steps, of_users)
    return by_item, by_user, places, values, keys


def check_size(count, team=ALONE):
    """DataError for no ratings at all, on any rank of a parallel.Team, or more here than places can number."""
    if not team.allreduce(np.array(count)):
        raise DataError("There are no ratings: 0 rows. Give at least one user, item, rating triple.")
    if count > MOST_RATINGS:
        raise DataError(f"{count:,} ratings are more than the {MOST_RATINGS:,} that can be ordered.")


def level_codes(ratings, steps, team=ALONE):
    """(Levels without counts, codes (n,) uint8, the ratings' bits (n,) uint32), the latter two on the device."""
    bits = sent(ratings, "values", steps).view(np.uint32)
    table, found = steps.resident(np.full(TABLE, FREE), np.uint32), steps.zeros(2, np.int32)
    steps.run("enter_values", bits, leveling.MOST, table, found)
    count, bad = steps.fetch(found)
    crowded = count > leveling.MOST  # and so not all ratings were looked at
    if bad or crowded:
        refuse_not_finite(ratings.values)
    if team.size > 1:
        table, crowded = of_all_ranks(table, crowded, steps, team)
    codes, host = steps.empty(len(ratings), np.uint8), ratings.values if crowded else None
    if crowded:
        bounds = (host.min(initial=np.inf), "min"), (host.max(initial=-np.inf), "max")
        low, high = (float(team.allreduce(*bound)) for bound in bounds)
        values, levels_a_unit = leveling.grid(low, high)
        steps.run("grid_codes", bits.view(np.float32), low, levels_a_unit, codes)
        return Levels(values, False, np.empty(0, np.int64)), codes, bits
    values, ranks = leveling.ranked(steps.fetch(table))
    steps.run("find_codes", bits, table, steps.resident(ranks, np.uint8), codes)
    return Levels(values, True, np.empty(0, np.int64)), codes, bits


def sent(ratings, name, steps):
    """A column of the triples of Ratings on the device: (n,) int32, or of values float32."""
    if isinstance(ratings, ResidentRatings):
        return ratings.sent(name, steps)
    return steps.resident(getattr(ratings, name), np.float32 if name == "values" else np.int32)


def refuse_not_finite(values):
    """DataError for values (n,) of which one is not finite."""
    if not np.isfinite([values.min(), values.max()]).all():
        at = int(np.argmax(~np.isfinite(values)))
        raise DataError(f"Rating number {at + 1:,} is {values[at]}: ratings must be finite numbers. Remove such rows.")


def of_all_ranks(table, crowded, steps, team):
    """(the table of all ranks' values, on the device; whether they are too many for one), of each rank's own."""
    slots = steps.fetch(table)
    used = np.unique(np.concatenate(team.allgather(slots[slots != FREE])))
    crowded = bool(team.allreduce(np.array(crowded), "max")) or len(used) > leveling.MOST
    table, found = steps.resident(np.full(TABLE, FREE), np.uint32), steps.zeros(2, np.int32)
    if not crowded:
        steps.run("enter_values", steps.resident(used, np.uint32), leveling.MOST, table, found)
    return table, crowded


def packed_keys(ratings, codes, key, steps):
    """keys (n,) uint64 on the device; DataError for a user or item that is not a row."""
    size, (users, items) = len(ratings), ratings.shape
    keys, wrong = steps.empty(size, np.uint64), steps.resident(np.array([size]), np.int64)
    triples = (sent(ratings, name, steps) for name in ("users", "items"))
    steps.run("pack_keys", *triples, codes, users, items, key.item.shift, key.user.shift, keys, wrong)
    first = int(steps.fetch(wrong)[0])
    if first < size:
        raise DataError(
            f"Rating number {first + 1:,} is of user row {ratings.users[first]} and item row {ratings.items[first]}, "
            f"but there are {users:,} users and {items:,} items, whose rows count from 0."
        )
    return keys


def taken(keys, key, row, other, places, steps, on_host=True):
    """The Order of sorted keys by (the Field of) row, with so many empty rows behind; other: the other side's Field;
    on_host: whether with its indptr."""
    size, (field, empty_rows) = keys.size, row
    others, codes = steps.empty(size, np.int32), steps.empty(size, np.uint8)
    steps.run("take_fields", keys, other.shift, other.width, key.level.width, others, codes, places)
    starts = steps.row_starts(keys, field.shift, field.width, field.rows + empty_rows)
    return Order(steps.fetch(starts) if on_host else None, starts, others, codes)


def refuse_repeats(keys, key, ratings, steps):
    """DataError where a (user, item) pair comes twice in keys by user and item."""
    found = steps.resident(np.array([keys.size]), np.int64)
    steps.run("first_repeat", keys, key.item.shift, found)
    at = int(steps.fetch(found)[0])
    if at < keys.size:
        pair = int(steps.fetch(keys[at : at + 1])[0]) >> key.item.shift
        user, item = pair >> key.item.width, pair & ((1 << key.item.width) - 1)
        raise DataError(
            f"User {ratings.user_ids[user]} has rated item {ratings.item_ids[item]} more than once. Leave one of "
            "them out, give their times, or choose where there is such an argument: duplicates='last' (--duplicates "
            "last) or 'mean'."
        )


def level_counts(order, levels, steps):
    """(L,) int64 ratings of each level."""
    counts = steps.zeros(len(levels.values), np.int64)
    steps.run("count_codes", order.codes, counts)
    return steps.fetch(counts)
