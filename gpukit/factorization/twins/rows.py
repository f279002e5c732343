"""Parameter rows on a CPU: factors, then layout.EXTRA more numbers."""

from gpukit._jit import njit
from gpukit.factorization.solvers.sgd.formulas import ZERO


@njit
def dot(p, q, n):
    """The product of the first n numbers of two rows."""
    total = ZERO
    for f in range(n):
        total += p[f] * q[f]
    return total
