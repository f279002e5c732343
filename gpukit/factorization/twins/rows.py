"""Parameter rows on a CPU: factors, then layout.EXTRA more numbers."""

from gpukit._jit import njit
from gpukit.factorization.solvers.sgd.formulas import ZERO


@njit
def dot(p, q, n):
    """Return the dot product of the first n numbers of two rows."""
    product = ZERO
    for f in range(n):
        product += p[f] * q[f]
    return product


@njit
def total(row):
    """Return the sum of a row."""
    found = ZERO
    for f in range(row.size):
        found += row[f]
    return found
