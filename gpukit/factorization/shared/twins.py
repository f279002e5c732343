"""CPU twins of kernels.py."""

import numpy as np

from gpukit.factorization.model.layout import EXTRA, SQUARES
from gpukit.factorization.solvers.sgd.formulas import change_weight
from gpukit.factorization.solvers.sgd.schedule import QUAD
from gpukit.scheduler import by_block


def take_changes(table, rows, common, changes):
    """Twin of kernels.make_take_changes."""
    n = len(changes)
    changes[:] = table[np.ix_(rows[:n], columns_of(table, changes))] - common[:n]


def add_changes(changes, sums, shares, rows, table, common):
    """Twin of kernels.make_add_changes."""
    n, squares = len(changes), changes.shape[1] - QUAD + SQUARES
    total = shares[:n, None] * sums
    total[:, squares] = sums[:, squares]
    table[np.ix_(rows[:n], columns_of(table, changes))] += total - changes
    common[:n] += total


@by_block(lambda sums: sums.shape[0], heavy=True)
def factor_squares(start, stop, table, counts, factors, every, sums):
    """Twin of kernels.factor_squares; each row of sums has a part of the sampled rows."""
    parts, chosen = sums.shape[0], (counts.size + every - 1) // every
    for part in range(start, stop):
        square, size = 0.0, 0.0
        for row in range(chosen * part // parts * every, chosen * (part + 1) // parts * every, every):
            row_square = np.float32(0.0)
            for k in range(factors):
                row_square += table[row, k] * table[row, k]
            square += np.float64(counts[row] * row_square)
            size += np.float64(counts[row])
        sums[part, 0], sums[part, 1] = square, size


@by_block(lambda shares: shares.size)
def damp(start, stop, sums, paces, ranks, shares):
    """Twin of kernels.damp."""
    square, size = sums[:, 0].sum(), sums[:, 1].sum()
    mean = np.float32(square / size) if size > 0.0 else np.float32(0.0)
    for k in range(stop - start):
        r = start + k
        shares[r] = change_weight(np.float32(paces[r] * mean), np.float32(ranks))


def columns_of(table, changes):
    """Return the columns of the changes in parameter rows: the factors, then the first extras."""
    first = table.shape[1] - EXTRA
    return np.append(np.arange(changes.shape[1] - QUAD), np.arange(first, first + QUAD))
