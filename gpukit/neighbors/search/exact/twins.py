"""CPU twin of kernels.py: the same name, the same arguments in the same order, the same integers."""

import numpy as np

from gpukit._jit import njit
from gpukit.neighbors.formulas import NOBODY
from gpukit.neighbors.search.exact.formulas import SQUARE_BITS, pair_key
from gpukit.scheduler import by_block

I64 = np.int64
COUNTED = I64(1 << SQUARE_BITS)  # a word that counts one
PITCH = 4  # words of an item's sums, the last one unused: a vector


@njit
def add_row(items, codes, numbers, squares, own, x, sums):
    """Add the ratings of one user, whose rating of the query is x, for the items of their row."""
    for t in range(items.size):
        j, code = items[t], codes[t]
        sums[j, 0] += own
        sums[j, 1] += squares[code]
        sums[j, 2] += x * numbers[code] + COUNTED


@njit
def add_column(users, levels, rows, items, codes, numbers, sums):
    """Add the sums (N, 4) of a query, whose column is users and levels, with all items."""
    squares = numbers * numbers + numbers * COUNTED
    sums[:] = 0
    for t in range(users.size):
        begin, end = rows[users[t]], rows[users[t] + 1]
        x, own = numbers[levels[t]], squares[levels[t]]
        add_row(items[begin:end], codes[begin:end], numbers, squares, own, x, sums)


@by_block(lambda keys: keys.shape[0], heavy=True)
def pair_distances(start, stop, starts, users, levels, rows, items, codes, levels_whole, first, keys):
    """Twin of kernels.pair_distances."""
    for row in range(start, stop):
        query, sums, numbers = first + row, np.empty((keys.shape[1], PITCH), I64), levels_whole.astype(I64)
        begin, end = starts[query], starts[query + 1]
        add_column(users[begin:end], levels[begin:end], rows, items, codes, numbers, sums)
        for j in range(keys.shape[1]):
            keys[row, j] = pair_key(sums[j, 0], sums[j, 1], sums[j, 2])
        keys[row, query] = NOBODY
