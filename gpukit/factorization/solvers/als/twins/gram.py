"""CPU twin of kernels/gram.py."""

import numpy as np

from gpukit._jit import njit, prange
from gpukit.factorization.model.layout import BIAS, EXTRA
from gpukit.factorization.solvers.als.formulas import ZERO, root_at, value_at

STAGED, TOGETHER = 16, 4  # ratings that are copied to the cache, and those that are added at once


@njit
def _stage(first, count, minor, values, table, biased, stage):
    """The extended rows (v, 1, z - b) of some ratings, zero behind them."""
    n = table.shape[1] - EXTRA
    for t in range(count):
        other, root = minor[first + t], root_at(values, first + t)
        for f in range(n):
            stage[t, f] = root * table[other, f]
        stage[t, n] = root if biased else ZERO
        stage[t, n + 1] = root * (value_at(values, first + t) - table[other, n + BIAS])
    stage[count:] = ZERO


@njit
def _add_products(stage, gram):
    """gram += the staged rows' products, in its lower half."""
    for t in range(0, STAGED, TOGETHER):
        for a in range(gram.shape[0]):
            w, x, y, z = stage[t, a], stage[t + 1, a], stage[t + 2, a], stage[t + 3, a]
            for b in range(a + 1):
                gram[a, b] += w * stage[t, b] + x * stage[t + 1, b] + y * stage[t + 2, b] + z * stage[t + 3, b]


@njit(parallel=True)
def gram_of_pieces(pieces, minor, values, table, biased, grams):
    """Twin of kernels.gram.gram_of_pieces."""
    for piece in prange(pieces.shape[0]):
        first, length = pieces[piece, 1], pieces[piece, 2]
        stage = np.empty((STAGED, grams.shape[1]), np.float32)
        gram = grams[piece]
        gram[:] = ZERO
        for done in range(0, length, STAGED):
            _stage(first + done, min(STAGED, length - done), minor, values, table, biased, stage)
            _add_products(stage, gram)
