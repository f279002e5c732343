"""Oracle of the thresholding: LAPACK's singular values in float64, slice by slice."""

import functools

import numpy as np


def decompose(X):
    """Return [(U, S, V)] of every slice."""
    return [_decompose_slice(matrix.tobytes(), matrix.shape) for matrix in np.asarray(X, np.float64)]


@functools.lru_cache(maxsize=100)
def _decompose_slice(numbers, shape):
    """Decompose a slice that many tests share once."""
    return np.linalg.svd(np.frombuffer(numbers).reshape(shape), full_matrices=False)


def thresholded(U, S, V, bound, cap=None):
    """Return U (S - bound)+ V, with at most cap nonzero singular values."""
    left = np.maximum(S - bound, 0)
    if cap is not None:
        left[cap:] = 0
    return (U * left) @ V


def threshold(X, lam):
    """Return [(U (S - lam)+ V', S)] of every slice."""
    bounds = np.broadcast_to(np.asarray(lam, np.float64), len(X))
    return [(thresholded(U, S, V, bound), S) for (U, S, V), bound in zip(decompose(X), bounds)]


def bidiagonal(d, e):
    """Return the matrix of a diagonal d (p,) and e (p + 1,), e[k] above d[k]."""
    return np.diag(np.asarray(d, np.float64)) + np.diag(np.asarray(e, np.float64)[1:-1], 1)


def turned(V, spans, turns):
    """Return V after sweeps.

    spans [(lo, hi)], turns [(c, s)]: rows k and k + 1 become c x + s y and c y - s x.
    """
    V, turns = np.array(V, np.float64), iter(turns)
    for lo, hi in spans:
        for k in range(lo, hi):
            c, s = next(turns)
            V[k], V[k + 1] = c * V[k] + s * V[k + 1], c * V[k + 1] - s * V[k]
    return V
