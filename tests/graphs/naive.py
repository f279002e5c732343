"""Oracles of graph imputation: loops over vertices, in float64."""

import numpy as np


def normalized_laplacian(A):
    """I - D^-1/2 A D^-1/2 of a dense A (N, N), entry by entry; 0 in the row of an isolated vertex."""
    N, L = len(A), np.zeros((len(A), len(A)))
    degree = [sum(A[i]) for i in range(N)]
    for i in range(N):
        for j in range(N):
            if degree[i] and degree[j]:
                L[i, j] = (i == j) - A[i, j] / np.sqrt(degree[i] * degree[j])
    return L


def laplacian(A):
    """D - A of a dense A (N, N)."""
    return np.diag([sum(row) for row in A]) - A


def random_graph(N, density, seed, weighted=True):
    """A dense symmetric A (N, N) without a diagonal; positive weights, or 1."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((N, N)) < density, 1) * (rng.uniform(0.2, 2.0, (N, N)) if weighted else 1.0)
    return upper + upper.T


def path_graph(N):
    """A dense A (N, N): 0 - 1 - 2 - ... - N-1, with weights 1."""
    return np.eye(N, k=1) + np.eye(N, k=-1)
