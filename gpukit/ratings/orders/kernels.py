"""GPU kernels of ordering ratings; twins.py has the CPU twins.

The sorts are in gpukit.primitives.group.
"""

import numpy as np

from gpukit._cuda import cuda, kernel
from gpukit.ratings.orders.formulas import FREE, TABLE, first_slot, is_finite, pack_fields, plain_bits

U32, U64, I64 = np.uint32, np.uint64, np.int64
NO_LEAST, NO_GREATEST = I64(2**63 - 1), I64(-(2**63))  # bounds of no ids


@kernel
def enter_values(bits, most, table, counts):
    """Collect the distinct ratings.

    bits (n,) uint32 of float32 ratings; most int32; table (2048,) uint32, all free (0xFFFFFFFF) before, then the
    values' bits in no order, if there are at most `most`; counts (2,) int32, zero before: the number of values entered
    (more than most: too many, the table is incomplete), and 1 if a rating is not finite. Launch: any grid and block.
    Deterministic: as a set. Source: ours (open addressing; a block searches its own table first).
    """
    block_table = cuda.shared.array(TABLE, np.uint32)
    for slot in range(cuda.threadIdx.x, TABLE, cuda.blockDim.x):
        block_table[slot] = FREE
    cuda.syncthreads()
    for t in range(I64(cuda.grid(1)), I64(bits.size), I64(cuda.gridsize(1))):
        value = plain_bits(bits[U64(t)])
        if not is_finite(value):
            counts[1] = 1
            break
        slot = first_slot(value)
        while block_table[slot] != value and block_table[slot] != FREE:
            slot = U32(U32(slot + U32(1)) % U32(TABLE))
        if block_table[slot] == value:
            continue
        if cuda.ldcg(counts, 0) > most:  # bypasses a stale value in the L1 cache
            break
        position = first_slot(value)
        for _ in range(TABLE):
            before = cuda.atomic.cas(table, position, FREE, value)
            if before == FREE:
                cuda.atomic.add(counts, 0, 1)
            if before == FREE or before == value:
                break
            position = U32(U32(position + U32(1)) % U32(TABLE))
        while True:
            before = cuda.atomic.cas(block_table, slot, FREE, value)
            if before == FREE or before == value:
                break
            slot = U32(U32(slot + U32(1)) % U32(TABLE))


@kernel
def find_codes(bits, table, ranks, codes):
    """Compute codes[t] = rank of rating t among the distinct values.

    bits (n,) uint32 of float32 ratings, all of them in table (2048,) uint32; ranks (2048,) uint8 of its slots; codes
    (n,) uint8, overwritten.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    block_table = cuda.shared.array(TABLE, np.uint32)
    rank = cuda.shared.array(TABLE, np.uint8)
    for slot in range(cuda.threadIdx.x, TABLE, cuda.blockDim.x):
        block_table[slot], rank[slot] = table[slot], ranks[slot]
    cuda.syncthreads()
    for t in range(I64(cuda.grid(1)), I64(bits.size), I64(cuda.gridsize(1))):
        value = plain_bits(bits[U64(t)])
        slot = first_slot(value)
        while block_table[slot] != value:
            slot = U32(U32(slot + U32(1)) % U32(TABLE))
        codes[U64(t)] = rank[slot]


@kernel
def grid_codes(values, low, levels_a_unit, codes):
    """Compute codes[t] = nearest level of a uniform grid.

    values (n,) float32, finite; low float64: the lowest; levels_a_unit float64; codes (n,) uint8, overwritten.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    for t in range(I64(cuda.grid(1)), I64(values.size), I64(cuda.gridsize(1))):
        codes[U64(t)] = np.uint8(I64(round((np.float64(values[U64(t)]) - low) * levels_a_unit)))


@kernel
def pack_keys(users, items, codes, n_users, n_items, item_shift, user_shift, keys, wrong):
    """Compute keys[t] = user | item | code of rating t.

    users, items (n,) int32; codes (n,) uint8; n_users, n_items, item_shift, user_shift int32; keys (n,) uint64,
    overwritten; wrong (1,) int64, n before: the first rating whose user or item is not a row.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    for t in range(I64(cuda.grid(1)), I64(users.size), I64(cuda.gridsize(1))):
        user, item = users[U64(t)], items[U64(t)]
        if user < 0 or user >= n_users or item < 0 or item >= n_items:
            cuda.atomic.min(wrong, 0, t)
        keys[U64(t)] = pack_fields(user, item, codes[U64(t)], item_shift, user_shift)


@kernel
def name_rows(starts, rows):
    """Compute the row of each position.

    rows[t] = r for positions t from starts[r] up to starts[r + 1]. starts (any,) int64, rising, from 0 to n; rows (n,)
    int32, overwritten. Launch: any grid and block; a block processes whole rows. Deterministic: yes, exact. Source:
    ours.
    """
    for row in range(I64(cuda.blockIdx.x), I64(starts.size) - I64(1), I64(cuda.gridDim.x)):
        first, end = starts[U64(row)], starts[U64(row + 1)]
        for t in range(first + I64(cuda.threadIdx.x), end, I64(cuda.blockDim.x)):
            rows[U64(t)] = np.int32(row)


@kernel
def take_fields(keys, shift, width, level_width, others, codes, places):
    """Split keys into their parts.

    others = `width` bits from `shift` on; codes = the lowest level_width bits; places = 0, 1, ...
    keys (n,) uint64; shift, width, level_width int32; others (n,) int32, codes (n,) uint8, overwritten; places (n,)
    uint32, overwritten, or of another size: unchanged.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    mask, level_mask = U64((U64(1) << U64(width)) - U64(1)), U64((U64(1) << U64(level_width)) - U64(1))
    numbered = places.size == keys.size
    for t in range(I64(cuda.grid(1)), I64(keys.size), I64(cuda.gridsize(1))):
        key = keys[U64(t)]
        others[U64(t)] = np.int32(U64(key >> U64(shift)) & mask)
        codes[U64(t)] = np.uint8(key & level_mask)
        if numbered:
            places[U64(t)] = U32(t)


@kernel
def first_repeat(keys, shift, position):
    """Find the first record that repeats the key before it.

    Keys are compared from bit `shift` on. keys (n,) uint64, in order; shift int32; position (1,) int64, n before: its
    position. Launch: any grid and block. Deterministic: yes, exact. Source: ours.
    """
    for t in range(I64(cuda.grid(1)) + 1, I64(keys.size), I64(cuda.gridsize(1))):
        if U64(keys[U64(t)] >> U64(shift)) == U64(keys[U64(t - 1)] >> U64(shift)):
            cuda.atomic.min(position, 0, t)


@kernel
def count_codes(codes, counts):
    """Add the number of codes equal to c to counts[c].

    codes (n,) uint8, all below the size of counts (up to 256,) int64.
    Launch: any grid, blocks of a multiple of 32 threads.
    Deterministic: yes, exact.
    Source: ours (a lane counts locally while codes are equal, as they are if ratings are sorted by level).
    """
    last, count = I64(-1), I64(0)
    share = (I64(codes.size) + I64(cuda.gridsize(1)) - I64(1)) // I64(cuda.gridsize(1))
    first = I64(cuda.grid(1)) * share
    for t in range(first, min(first + share, I64(codes.size))):
        code = I64(codes[U64(t)])
        if code != last and count > 0:
            cuda.atomic.add(counts, last, count)
            count = I64(0)
        last = code
        count += 1
    if count > 0:
        cuda.atomic.add(counts, last, count)


@kernel
def id_bounds(ids, column, bounds):
    """Compute bounds = minimum and maximum of a column of ids.

    ids (n, k) int32 or int64; column int32; bounds (2,) int64, the greatest and the least int64 before.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    low, high = NO_LEAST, NO_GREATEST
    for t in range(I64(cuda.grid(1)), I64(ids.shape[0]), I64(cuda.gridsize(1))):
        value = I64(ids[U64(t), column])
        low, high = min(low, value), max(high, value)
    if low < bounds[0]:  # possibly stale; the atomics decide
        cuda.atomic.min(bounds, 0, low)
    if high > bounds[1]:
        cuda.atomic.max(bounds, 1, high)


@kernel
def mark_ids(ids, column, low, present):
    """Set present[id - low] = 1 for every id of a column.

    ids (n, k) int32 or int64; column int32; low int64: the least of them; present (greatest - low + 1,) uint8, zero
    before.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    for t in range(I64(cuda.grid(1)), I64(ids.shape[0]), I64(cuda.gridsize(1))):
        place = U64(I64(ids[U64(t), column]) - low)
        if present[place] == 0:  # most positions are marked already, and reading costs less than writing
            present[place] = np.uint8(1)


@kernel
def rank_ids(ids, column, low, ranks, rows):
    """Compute rows[t] = ranks[id - low], the row of an id.

    ids (n, k) int32 or int64; column int32; low int64: the least of them; ranks (greatest - low + 1,) int32; rows (n,)
    int32, overwritten.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    for t in range(I64(cuda.grid(1)), I64(ids.shape[0]), I64(cuda.gridsize(1))):
        rows[U64(t)] = ranks[U64(I64(ids[U64(t), column]) - low)]


@kernel
def as_single(values, out):
    """Compute out = values, rounded to float32.

    values (n,) float32, float64, int32 or int64; out (n,) float32, overwritten.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    for t in range(I64(cuda.grid(1)), I64(values.size), I64(cuda.gridsize(1))):
        out[U64(t)] = np.float32(values[U64(t)])
