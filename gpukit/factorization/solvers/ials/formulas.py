"""The loss of iALS and its normal equations.

With clicks (i, j) of weight w, M users u_i and N items v_j, the least of (Rendle et al. 2022, sec. 3: observed clicks,
all pairs, frequency-scaled regularization)

    sum over clicks w (1 - u_i v_j)^2  +  alpha0 sum over all pairs (u_i v_j)^2
        +  lambda (sum_i (n_i + alpha0 N)^nu |u_i|^2  +  sum_j (n_j + alpha0 M)^nu |v_j|^2),

n the clicks of a row. The second sum has the clicks too: a click's square is weighed w + alpha0 in all, its target w. A
user's row, the items held, solves

    (alpha0 V'V + sum w v v' + lambda (n + alpha0 N)^nu I) u = sum w v,    the sums over the user's clicks,

as google-research/ials has it. A row without clicks is 0.

A row with fewer clicks than factors is solved for in as many unknowns as it has clicks: with A what comes before the
sum, V the rows v of its clicks and W the diagonal of their weights, (Woodbury's identity)

    u = A^-1 V' z,    (W^-1 + V A^-1 V') z = 1,

where A is diagonal for every row once V stands in the basis of the eigenvectors of V'V. Since V A^-1 V' is at most
1 / alpha0, the matrix has all its eigenvalues within 1 / w and 1 / w + 1 / alpha0.

Conjugate gradients are preconditioned by M, the inverse of S + d I, with S = alpha0 V'V and d the mean of the rows'
lambdas. A row's matrix is S + lambda I + sum w v v'. Since the sum is at most max w / alpha0 times S, and the lambdas
differ little, all eigenvalues of M times it lie close together, however far apart those of S are: a few steps do, and
rounding does not grow over them.
"""

import numpy as np


def decays_of(counts, others, regularization, unobserved, exponent):
    """(rows,) float32: lambda of each row, which has counts (rows,) clicks of `others` there are on the other side."""
    return np.float32(regularization * (np.asarray(counts, np.float64) + unobserved * others) ** exponent)


def basis_of(shared):
    """(spectrum (F,), Q (F, F)), float32: S = Q diag(spectrum) Q' of what rows share, (F, F) float32 on the host."""
    spectrum, basis = np.linalg.eigh(np.asarray(shared, np.float64))
    return np.maximum(spectrum, 0).astype(np.float32), np.ascontiguousarray(basis, np.float32)
