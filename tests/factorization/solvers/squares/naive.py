"""Oracle of least squares of rows, with the other side fixed.

In float64 it is the oracle; in float32 it is the plain computation that defines the error budget.
"""

import numpy as np


def half_step(ratings, V, b, S, decays, damping, dtype, biased=True):
    """Return (U (rows, F), c (rows,)), the minima of the squared error.

    The error is sum w (z - b - u v - c)^2 + u' S u + decay |u|^2 + damping c^2. ratings [(row, other, z, w)]; V (N, F),
    b (N,): factors and biases of the other side; S (F, F); decays (rows,). Rows without ratings are NaN.
    """
    n_factors, rows = V.shape[1], len(decays)
    found = np.full((rows, n_factors + 1), np.nan, dtype)
    for row in range(rows):
        mine = [(other, z, w) for i, other, z, w in ratings if i == row]
        A, g = np.zeros((n_factors + 1, n_factors + 1), dtype), np.zeros(n_factors + 1, dtype)
        A[:-1, :-1] = S
        for other, z, w in mine:
            y = np.append(V[other], 1 if biased else 0).astype(dtype)
            A += dtype(w) * np.outer(y, y)
            g += dtype(w) * y * (dtype(z) - dtype(b[other]))
        A += np.diag([dtype(decays[row])] * n_factors + [dtype(damping)])
        if mine:
            found[row] = eliminated(A, g)
    return found[:, :n_factors], found[:, n_factors]


def eliminated(A, g):
    """Return x of A x = g, A symmetric and positive definite, by Gaussian elimination."""
    A, g = A.copy(), g.copy()
    for k in range(len(g)):
        for i in range(k + 1, len(g)):
            share = A[i, k] / A[k, k]
            A[i] -= share * A[k]
            g[i] -= share * g[k]
    for k in reversed(range(len(g))):
        g[k] = (g[k] - (A[k, k + 1 :] * g[k + 1 :]).sum()) / A[k, k]
    return g
