"""Oracle of alternating least squares: one side's rows, the other held, row by row (Zhou et al. 2008).

In float64 it is the oracle; the same in float32 is the plain computation that the error budget is measured by.
"""

import numpy as np


def half_step(rows, ratings, V, b, decay, damping, dtype, biased=True):
    """(U (rows, F), c (rows,)): the least of sum (z - b - u v - c)^2 + decay n |u|^2 + damping c^2 for each row.

    n: how many ratings a row has; where they count differently all sums are weighted, and n is that of the weights.
    ratings [(row, other, z, weight)]; V (N, F), b (N,): factors and biases of the other side. Rows without ratings
    are NaN.
    """
    n_factors = V.shape[1]
    found = np.full((rows, n_factors + 1), np.nan, dtype)
    for row in range(rows):
        mine = [rating for i, *rating in ratings if i == row]
        A, g = np.zeros((n_factors + 1, n_factors + 1), dtype), np.zeros(n_factors + 1, dtype)
        for other, z, weight in mine:
            y = np.append(V[other], 1 if biased else 0).astype(dtype)
            A += dtype(weight) * np.outer(y, y)
            g += dtype(weight) * y * (dtype(z) - dtype(b[other]))
        A += np.diag([dtype(decay) * sum(dtype(weight) for *_, weight in mine)] * n_factors + [dtype(damping)])
        if mine:
            found[row] = eliminated(A, g)
    return found[:, :n_factors], found[:, n_factors]


def eliminated(A, g):
    """x of A x = g, A symmetric and positive: Gauss's elimination, column by column, then back."""
    A, g = A.copy(), g.copy()
    for k in range(len(g)):
        for i in range(k + 1, len(g)):
            share = A[i, k] / A[k, k]
            A[i] -= share * A[k]
            g[i] -= share * g[k]
    for k in reversed(range(len(g))):
        g[k] = (g[k] - (A[k, k + 1 :] * g[k + 1 :]).sum()) / A[k, k]
    return g
