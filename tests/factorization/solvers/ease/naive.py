"""Oracle of EASE: one ridge regression per item on all other items, float64, plain loops."""

import numpy as np


def weights(X, ridge):
    """Return B (N, N): column j minimizes |x_j - X b|^2 + ridge |b|^2 with b_j = 0 (Steck 2019, Eq. 3)."""
    X = np.asarray(X, float)
    n_items = X.shape[1]
    G = np.array([[sum(X[:, i] * X[:, k]) for k in range(n_items)] for i in range(n_items)])
    B = np.zeros((n_items, n_items))
    for j in range(n_items):
        others = [i for i in range(n_items) if i != j]
        B[others, j] = np.linalg.solve(G[np.ix_(others, others)] + ridge * np.eye(n_items - 1), G[others, j])
    return B


def regression(X, item, others, ridge):
    """Return b (n,): it minimizes |x_item - X_others b|^2 + ridge |b|^2; others (n,): items."""
    if not len(others):
        return np.zeros(0)
    G = np.array([[sum(X[:, i] * X[:, k]) for k in (*others, item)] for i in others])
    return np.linalg.solve(G[:, :-1] + ridge * np.eye(len(others)), G[:, -1])


def scores(X, B, user):
    """Return the scores (N,) of a user: the sum of the rows of B of the clicked items."""
    out = np.zeros(len(B))
    for i in range(len(B)):
        if X[user, i]:
            out += B[i]
    return out
