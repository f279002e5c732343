"""CPU twins of kernels.py: the same names and arguments."""

import numpy as np

from gpukit._jit import njit
from gpukit.ratings.orders.formulas import FREE, TABLE, first_slot, is_finite, pack_fields, plain_bits
from gpukit.scheduler import by_block

U32, U64 = np.uint32, np.uint64
PARTS = 16  # parts of the ratings that are processed in parallel


@njit
def _enter(bits, most, table):
    """Enter values into a table; return (number new, 1 if not finite)."""
    count = 0
    for t in range(bits.size):
        value = plain_bits(bits[t])
        if not is_finite(value):
            return count, 1
        slot = first_slot(value)
        while table[slot] != value and table[slot] != FREE:
            slot = U32(U32(slot + U32(1)) % U32(TABLE))
        if table[slot] != value:
            table[slot] = value
            count += 1
            if count > most:
                break
    return count, 0


def enter_values(bits, most, table, counts):
    """Twin of kernels.enter_values."""
    tables, outcome = np.full((PARTS, TABLE), FREE, np.uint32), np.empty((PARTS, 2), np.int64)
    _enter_parts(bits, most, tables, outcome)
    counts[1] = max(counts[1], outcome[:, 1].max())
    if (outcome[:, 0] > most).any():
        counts[0] = most + 1
    if counts[1] == 0 and counts[0] == 0:
        _enter_parts(tables[tables != FREE], most, table[np.newaxis], outcome[:1])
        counts[0] += outcome[0, 0]


@by_block(lambda outcome: len(outcome), heavy=True)
def _enter_parts(start, stop, bits, most, tables, outcome):
    for part in range(start, stop):
        values = bits[bits.size * part // len(outcome) : bits.size * (part + 1) // len(outcome)]
        outcome[part, 0], outcome[part, 1] = _enter(values, most, tables[part])


@by_block(lambda bits: bits.size)
def find_codes(start, stop, bits, table, ranks, codes):
    """Twin of kernels.find_codes."""
    for k in range(stop - start):
        t = start + k
        value = plain_bits(bits[t])
        slot = first_slot(value)
        while table[slot] != value:
            slot = U32(U32(slot + U32(1)) % U32(TABLE))
        codes[t] = ranks[slot]


@by_block(lambda values: values.size, fastmath=False)
def grid_codes(start, stop, values, low, levels_a_unit, codes):
    """Twin of kernels.grid_codes."""
    for k in range(stop - start):
        t = start + k
        codes[t] = np.uint8(round((np.float64(values[t]) - low) * levels_a_unit))


def pack_keys(users, items, codes, n_users, n_items, item_shift, user_shift, keys, wrong):
    """Twin of kernels.pack_keys."""
    firsts = np.full(PARTS, users.size, np.int64)
    _pack_parts(users, items, codes, np.array([n_users, n_items]), np.array([item_shift, user_shift]), keys, firsts)
    wrong[0] = min(wrong[0], firsts.min())


@by_block(lambda firsts: firsts.size, heavy=True)
def _pack_parts(start, stop, users, items, codes, sizes, shifts, keys, firsts):
    for part in range(start, stop):
        for t in range(users.size * part // PARTS, users.size * (part + 1) // PARTS):
            user, item = users[t], items[t]
            if user < 0 or user >= sizes[0] or item < 0 or item >= sizes[1]:
                firsts[part] = min(firsts[part], t)
            keys[t] = pack_fields(user, item, codes[t], shifts[0], shifts[1])


@by_block(lambda starts: starts.size - 1)
def name_rows(start, stop, starts, rows):
    """Twin of kernels.name_rows."""
    for row in range(start, stop):
        rows[starts[row] : starts[row + 1]] = row


@by_block(lambda keys: keys.size)
def take_fields(start, stop, keys, shift, width, level_width, others, codes, places):
    """Twin of kernels.take_fields."""
    mask, level_mask = U64((U64(1) << U64(width)) - U64(1)), U64((U64(1) << U64(level_width)) - U64(1))
    numbered = places.size == keys.size
    for k in range(stop - start):
        t = start + k
        others[t] = np.int32((keys[t] >> U64(shift)) & mask)
        codes[t] = np.uint8(keys[t] & level_mask)
        if numbered:
            places[t] = U32(t)


def first_repeat(keys, shift, position):
    """Twin of kernels.first_repeat."""
    firsts = np.full(PARTS, keys.size, np.int64)
    _repeats_of_parts(keys, shift, firsts)
    position[0] = min(position[0], firsts.min())


@by_block(lambda firsts: firsts.size, heavy=True)
def _repeats_of_parts(start, stop, keys, shift, firsts):
    for part in range(start, stop):
        for t in range(max(1, keys.size * part // PARTS), keys.size * (part + 1) // PARTS):
            if keys[t] >> U64(shift) == keys[t - 1] >> U64(shift):
                firsts[part] = min(firsts[part], t)


def count_codes(codes, counts):
    """Twin of kernels.count_codes."""
    parts = np.zeros((PARTS, counts.size), np.int64)
    _count_parts(codes, parts)
    counts += parts.sum(axis=0)


@by_block(lambda parts: len(parts), heavy=True)
def _count_parts(start, stop, codes, parts):
    for part in range(start, stop):
        for t in range(codes.size * part // PARTS, codes.size * (part + 1) // PARTS):
            parts[part, codes[t]] += 1


@njit
def id_bounds(ids, column, bounds):
    """Twin of kernels.id_bounds."""
    for t in range(ids.shape[0]):
        bounds[0], bounds[1] = min(bounds[0], ids[t, column]), max(bounds[1], ids[t, column])


@njit
def mark_ids(ids, column, low, present):
    """Twin of kernels.mark_ids."""
    for t in range(ids.shape[0]):
        present[ids[t, column] - low] = 1


@by_block(lambda ids: ids.shape[0])
def rank_ids(start, stop, ids, column, low, ranks, rows):
    """Twin of kernels.rank_ids."""
    for k in range(stop - start):
        t = start + k
        rows[t] = ranks[ids[t, column] - low]


@by_block(lambda values: values.size)
def as_single(start, stop, values, out):
    """Twin of kernels.as_single."""
    for k in range(stop - start):
        t = start + k
        out[t] = np.float32(values[t])
