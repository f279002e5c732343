"""GPU kernels of random projections; twins.py has each of them for the CPU. A thread has a bit, a warp a word."""

import numpy as np

from gpukit._cuda import cuda, device, kernel
from gpukit.neighbors.hashes.projection.formulas import coordinate
from gpukit.primitives.search import upper_bound

I64, U32, U64 = np.int64, np.uint32, np.uint64
FULL = U32(0xFFFFFFFF)
WARP = 32


@device
def column_sum(users, levels, weights, key, begin, end):
    """Return the sum of weight times coordinate over ratings begin..end: whole numbers of 32 bits within a level."""
    total = I64(0)
    while begin < end:
        level, part = levels[U64(begin)], np.int32(0)
        stop = upper_bound(levels, level, begin + 1, end)
        for t in range(begin, stop):
            part = np.int32(part + coordinate(key, users[U64(t)]))
        total += weights[level] * I64(part)
        begin = stop
    return total


@device
def write_word(codes, item, bit, positive):
    """Write a warp's bits, one per lane, as a word of the item's code."""
    word = U32(cuda.ballot_sync(FULL, positive))
    if bit % U32(WARP) == U32(0) and bit // U32(WARP) < U32(codes.shape[1]):
        codes[U64(item), bit // U32(WARP)] = word


@kernel
def project_columns(users, levels, weights, keys, units, codes, partials):
    """Bit g of item j's code = [sum over its ratings of weight(r) * coordinate of the user in direction g >= 0].

    users (n,) int32; levels (n,) uint8, rising within a column; weights (L,) int64 of the levels; keys (n_bits,)
    uint32; units (U, 4) int64: item, begin, end, slot (at most 4,095 ratings each); codes (N, W) uint32, rows of units
    with slot -1 written; partials (S, n_bits) int64: the sums of the units with a slot.
    Launch: grid (U, ceil(n_bits / block)), block a multiple of 32.   Deterministic: yes, exact (integers).
    Source: Charikar 2002; the paper's RP_cos.
    """
    bit, unit = U32(cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.x), U32(cuda.blockIdx.x)
    item, begin, end, slot = units[unit, 0], units[unit, 1], units[unit, 2], units[unit, 3]
    total, inside = I64(-1), bit < U32(keys.size)
    if inside:
        total = column_sum(users, levels, weights, keys[bit], begin, end)
    if slot < 0:
        write_word(codes, item, bit, total >= 0)
    elif inside:
        partials[U64(slot), bit] = total


@kernel
def join_parts(joins, partials, codes):
    """The codes of divided columns: the sums of their units added, then the signs.

    joins (J, 3) int64: item, first slot, last slot + 1; partials (S, n_bits) int64; codes (N, W) uint32, rows of these
    items written.
    Launch: grid (J, ceil(n_bits / block)), block a multiple of 32.   Deterministic: yes, exact (integers).
    Source: as project_columns.
    """
    bit, join = U32(cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.x), U32(cuda.blockIdx.x)
    total = I64(-1)
    if bit < U32(partials.shape[1]):
        total = I64(0)
        for slot in range(joins[join, 1], joins[join, 2]):
            total += partials[U64(slot), bit]
    write_word(codes, joins[join, 0], bit, total >= 0)
