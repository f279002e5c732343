"""Oracle of iALS: the loss of Rendle et al. 2022.

Rows are solved one by one, float64, plain loops.
"""

import numpy as np


def decay(count, others, reg, alpha0, nu):
    """lambda (n + alpha0 N)^nu."""
    return reg * (count + alpha0 * others) ** nu


def loss(clicks, U, V, reg, alpha0, nu):
    """Sum over clicks [(i, j, w)], over all pairs, and of the regularization."""
    total = sum(w * (1 - U[i] @ V[j]) ** 2 for i, j, w in clicks)
    for u in U:
        for v in V:
            total += alpha0 * (u @ v) ** 2
    for rows, others, at in ((U, len(V), 0), (V, len(U), 1)):
        for number, row in enumerate(rows):
            count = sum(1 for click in clicks if click[at] == number)
            total += decay(count, others, reg, alpha0, nu) * (row @ row)
    return total


def equations(mine, V, reg, alpha0, nu):
    """Return (A, g) of a row with clicks [(other, w)]."""
    V = np.asarray(V, float)
    A, g = np.eye(V.shape[1]) * decay(len(mine), len(V), reg, alpha0, nu), np.zeros(V.shape[1])
    for v in V:
        A += alpha0 * np.outer(v, v)
    for other, w in mine:
        A += w * np.outer(V[other], V[other])
        g += w * V[other]
    return A, g


def clicks_of(clicks, row, at):
    """Return [(other, w)] of a user (at 0) or an item (at 1)."""
    return [(click[1 - at], click[2]) for click in clicks if click[at] == row]


def solved(clicks, rows, at, V, reg, alpha0, nu):
    """Return each row's solution, (rows, F); 0 without clicks."""
    out = np.zeros((rows, np.shape(V)[1]))
    for row in range(rows):
        mine = clicks_of(clicks, row, at)
        if mine:
            out[row] = np.linalg.solve(*equations(mine, V, reg, alpha0, nu))
    return out


def mean_decay(clicks, rows, at, others, reg, alpha0, nu):
    """Return the mean lambda of the rows with clicks."""
    counts = [len(clicks_of(clicks, row, at)) for row in range(rows)]
    return np.mean([decay(count, others, reg, alpha0, nu) for count in counts if count])


def descended(clicks, U, at, V, reg, alpha0, nu, steps):
    """Return U (rows, F) after some steps of conjugate gradients.

    The start is the current rows; rows without clicks are 0. Preconditioned by the inverse of alpha0 V'V + the mean
    lambda.
    """
    out, V = np.zeros(np.shape(U)), np.asarray(V, float)
    mean = mean_decay(clicks, len(U), at, len(V), reg, alpha0, nu)
    M = np.linalg.inv(alpha0 * V.T @ V + mean * np.eye(V.shape[1]))
    for row in range(len(U)):
        mine = clicks_of(clicks, row, at)
        if not mine:
            continue
        A, g = equations(mine, V, reg, alpha0, nu)
        x = np.array(U[row], float)
        r = g - A @ x
        p = M @ r
        rest = r @ p
        for _ in range(steps):
            if rest == 0:
                break
            a = rest / (p @ A @ p)
            x, r = x + a * p, r - a * A @ p
            before, rest = rest, r @ M @ r
            p = M @ r + rest / before * p
        out[row] = x
    return out
