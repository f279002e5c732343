"""CPU twins of kernels.py."""

from gpukit._jit import njit
from gpukit.factorization.solvers.sgd import formulas
from gpukit.factorization.solvers.sgd.formulas import ZERO


@njit
def paper_epoch(rows, indptr, minor, ratings, P, Q, rate, decay):
    """Twin of kernels.paper_epoch, row by row."""
    n = P.shape[1]
    for row in rows:
        p = P[row]
        for t in range(indptr[row], indptr[row + 1]):
            q, dot = Q[minor[t]], ZERO
            for f in range(n):
                dot += p[f] * q[f]
            error = ratings[t] - dot
            for f in range(n):
                u, v = p[f], q[f]
                p[f] = u + formulas.factor_change(u, v, error, rate, decay)
                q[f] = v + formulas.factor_change(v, u, error, rate, decay)
