"""Fold-in of users or items that training has not seen: exact rows in plain numpy, for few rows at a time."""

import numpy as np

from gpukit.factorization.solvers.ials.formulas import decays_of
from gpukit.factorization.solvers.squares.plan import solve_symmetric

TOGETHER = 1 << 22  # numbers of the matrices solved at once


def gram_of(factors):
    """Return V'V (F, F) float64 of factors (n, F)."""
    factors = np.asarray(factors, np.float64)
    return factors.T @ factors


def fold_in(other_factors, indptr, indices, weights, settings, gram=None):
    """Return rows (rows, F) float32 that solve their normal equations (formulas.py), with the other side fixed.

    other_factors (n, F) float32: V, of all rows of the other side; indptr (rows + 1,) and indices (nnz,) integers: the
    clicks of row i are indices[indptr[i]:indptr[i + 1]] of the other side; weights (nnz,), above 0, or None: 1 each;
    settings: has regularization, unobserved_weight and exponent (lambda, alpha0, nu); gram: gram_of(other_factors) if
    available, since it costs n F^2. A row without clicks is 0. Solved in float64 by LAPACK's elimination; the order of
    clicks changes the last bits only. Arguments are not validated: indices must be in range and numbers finite.
    """
    V, indptr = np.asarray(other_factors), np.asarray(indptr)
    counts, n_factors = np.diff(indptr), V.shape[1]
    shared = settings.unobserved_weight * (gram_of(V) if gram is None else np.asarray(gram, np.float64))
    scale = settings.regularization, settings.unobserved_weight, settings.exponent
    decays = decays_of(counts, len(V), *scale).astype(np.float64)
    out = np.zeros((len(counts), n_factors), np.float32)
    clicked = np.flatnonzero(counts)
    step = max(1, TOGETHER // n_factors**2)
    for begin in range(0, len(clicked), step):
        rows = clicked[begin : begin + step]
        matrices = np.repeat(shared[None], len(rows), axis=0)
        matrices[:, np.arange(n_factors), np.arange(n_factors)] += decays[rows, None]
        targets = np.empty((len(rows), n_factors))
        for row, matrix, target in zip(rows, matrices, targets):
            clicks = slice(indptr[row], indptr[row + 1])
            v = V[indices[clicks]].astype(np.float64)
            weighted = v if weights is None else np.asarray(weights[clicks], np.float64)[:, None] * v
            matrix += weighted.T @ v
            target[:] = weighted.sum(axis=0)
        out[rows] = solve_symmetric(matrices, targets[:, :, None])[:, :, 0]
    return out
