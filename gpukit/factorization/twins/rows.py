"""Parameter rows on a CPU: factors, then layout.EXTRA more numbers."""

import numpy as np

from gpukit._jit import njit
from gpukit.factorization.solvers.sgd.formulas import ZERO


@njit
def dot(p, q, n):
    """Return the dot product of the first n numbers of two rows."""
    product = ZERO
    for f in range(n):
        product += p[f] * q[f]
    return product


@njit(nogil=True)
def row_products(rows, vector):
    """Return the dot products (n,) of rows (n, F) with a vector (F,), in the vector's dtype.

    For answers to one user: BLAS's threads would wait for each other when several threads ask.
    """
    out = np.empty(len(rows), vector.dtype)
    for i in range(len(rows)):
        out[i] = dot(rows[i], vector, vector.size)
    return out


@njit
def total(row):
    """Return the sum of a row."""
    found = ZERO
    for f in range(row.size):
        found += row[f]
    return found
