"""CPU twins of kernels.py: the same names, the same arguments in the same order, the same integers."""

import numpy as np

from gpukit._jit import copy_row, njit
from gpukit.neighbors.hashes.projection.formulas import coordinate
from gpukit.scheduler import by_block

U32 = np.uint32
WARP = 32


@njit
def add_coordinates(user, keys, part):
    """part (n_bits,) += the user's coordinates in all directions."""
    for bit in range(keys.size):
        part[bit] += coordinate(keys[bit], user)


@njit
def column_sums(users, levels, weights, keys, totals):
    """totals (n_bits,) = sum of weight times coordinate over a column."""
    totals[:] = 0
    part, begin = np.empty(keys.size, np.int32), 0
    while begin < users.size:
        stop = begin + np.searchsorted(levels[begin:], levels[begin], side="right")
        part[:] = 0
        for t in range(begin, stop):
            add_coordinates(users[t], keys, part)
        for bit in range(keys.size):
            totals[bit] += weights[levels[begin]] * part[bit]
        begin = stop


@njit
def write_signs(totals, row):
    """Write an item's code (W,): a bit for each nonnegative sum."""
    row[:] = U32(0)
    for bit in range(totals.size):
        if totals[bit] >= 0:
            row[bit // WARP] |= U32(1) << U32(bit % WARP)


@by_block(lambda units: units.shape[0])
def project_columns(start, stop, users, levels, weights, keys, units, codes, partials):
    """Twin of kernels.project_columns; vectorized over bits."""
    for u in range(start, stop):
        item, begin, end, slot = units[u, 0], units[u, 1], units[u, 2], units[u, 3]
        totals = np.empty(keys.size, np.int64)
        column_sums(users[begin:end], levels[begin:end], weights, keys, totals)
        if slot < 0:
            write_signs(totals, codes[item])
        else:
            copy_row(totals, partials[slot])


@by_block(lambda joins: joins.shape[0])
def join_parts(start, stop, joins, partials, codes):
    """Twin of kernels.join_parts."""
    for j in range(start, stop):
        totals = np.zeros(partials.shape[1], np.int64)
        for slot in range(joins[j, 1], joins[j, 2]):
            totals += partials[slot]
        write_signs(totals, codes[joins[j, 0]])
