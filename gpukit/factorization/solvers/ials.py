"""iALS: alternating least squares over all pairs of users and items; its loss and normal equations. als.py trains.

With clicks (i, j) of weight w, M users u_i and N items v_j, iALS minimizes (Rendle et al. 2022, sec. 3: observed
clicks, all pairs, frequency-scaled regularization)

    sum over clicks w (1 - u_i v_j)^2  +  alpha0 sum over all pairs (u_i v_j)^2
        +  lambda (sum_i (n_i + alpha0 N)^nu |u_i|^2  +  sum_j (n_j + alpha0 M)^nu |v_j|^2),

with n the number of clicks of a row. The second sum includes the clicks: the square of a click has weight w + alpha0 in
total, its target weight w. A user's row, with the items fixed, solves

    (alpha0 V'V + sum w v v' + lambda (n + alpha0 N)^nu I) u = sum w v,    the sums over the user's clicks,

as in google-research/ials. A row without clicks is 0.

Conjugate gradients are preconditioned by M, the inverse of S + d I, with S = alpha0 V'V and d the mean of the rows'
lambdas. A row's matrix is S + lambda I + sum w v v'. The sum is at most max w / alpha0 times S, and the lambdas differ
little. Therefore all eigenvalues of M times the matrix are close together, whatever those of S: a few steps suffice,
and rounding errors do not grow.

Papers: Hu, Koren and Volinsky, "Collaborative Filtering for Implicit Feedback Datasets", ICDM 2008; Takacs, Pilaszy and
Tikk, "Applications of the Conjugate Gradient Method for Implicit Feedback Collaborative Filtering", RecSys 2011;
Rendle, Krichene, Zhang and Koren, "Revisiting the Performance of iALS on Item Recommendation Benchmarks", RecSys 2022
(arXiv:2110.14037), for the loss and its regularization.

Cost of an epoch: (M + N) F^2 for the sums over all rows. In addition: nnz F^2 / 2 multiplications per side and (M + N)
F^3 / 6 by elimination; or (STEPS + 1) (2 nnz F per side + 2 (M + N) F^2) by conjugate gradients.
Deterministic: yes, for any number of threads.
"""

from typing import NamedTuple

import numpy as np

from gpukit.factorization.arrays import NUMBERS
from gpukit.factorization.constants import RULES
from gpukit.factorization.solvers.squares import solve_symmetric


class Directions(NamedTuple):
    """State of conjugate gradients of rows: directions ways, residuals left (rows, width), rests (rows,) float32.

    rests: products of residuals and M times them.
    """

    ways: np.ndarray
    left: np.ndarray
    rests: np.ndarray


PANEL = 32  # unknowns eliminated in a step


def faster_row_solver(n_factors):
    """Return the faster row solver for F factors."""
    return "cholesky" if n_factors <= RULES.direct_factors else "gradients"


def rows_of_block(width):
    """Return the rows of `width` factors that one block of begin_descent processes."""
    stage = 4096  # numbers of a block's rows in shared memory
    most_rows = 16  # of a block
    return max(1, min(most_rows, stage // width))


def decays_of(counts, others, regularization, unobserved, exponent):
    """Return lambda of each row, (rows,) float32, from its clicks counts (rows,) and the number of rows of the other
    side."""
    return np.float32(regularization * (np.asarray(counts, np.float64) + unobserved * others) ** exponent)


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
    step = max(1, NUMBERS // n_factors**2)
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
