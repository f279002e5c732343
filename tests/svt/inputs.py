"""Slices that are difficult for singular value decompositions."""

import numpy as np


def rotated(values, m, n, rng):
    """Return an m x n matrix with given singular values."""
    k = min(m, n)
    U, V = (np.linalg.qr(rng.normal(size=(size, size)))[0][:, :k] for size in (m, n))
    return (U * values) @ V.T


def low_rank(m, n, rank, noise, rng):
    """Return a matrix of a rank plus noise."""
    return rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n)) + noise * rng.normal(size=(m, n))


def bidiagonal(size, zeros, rng):
    """Return a bidiagonal integer matrix with zeros on its diagonal."""
    matrix = np.diag(rng.integers(1, 5, size)) + np.diag(rng.integers(1, 5, size - 1), 1)
    matrix[zeros, zeros] = 0
    return matrix


def without(rows, columns, m, n, rng):
    """Return a Gaussian matrix with zero rows and columns."""
    matrix = rng.normal(size=(m, n))
    matrix[rows], matrix[:, columns] = 0, 0
    return matrix


SLICES = {
    "gaussian 50": lambda rng: rng.normal(size=(3, 50, 50)),
    "gaussian 31": lambda rng: rng.normal(size=(2, 31, 31)),
    "gaussian 33": lambda rng: rng.normal(size=(2, 33, 33)),
    "tall": lambda rng: rng.normal(size=(2, 70, 32)),
    "wide": lambda rng: rng.normal(size=(2, 7, 288)),
    "nearly low-rank": lambda rng: np.stack([low_rank(50, 50, 5, 1e-3, rng) for _ in range(3)]),
    "rank-deficient": lambda rng: np.stack([low_rank(40, 45, 4, 0.0, rng) for _ in range(3)]),
    "repeated values": lambda rng: np.stack([rotated(np.repeat([3, 2, 1.0, 0], 8), 32, 32, rng)] * 2),
    "nearly equal values": lambda rng: np.stack([rotated(1 + 1e-4 * rng.normal(size=48), 48, 50, rng)] * 2),
    "identity": lambda rng: np.stack([np.eye(24)] * 2),
    "zeros among others": lambda rng: rng.normal(size=(3, 9, 9)) * np.array([1, 0, 1])[:, None, None],
    "graded": lambda rng: rng.normal(size=(2, 40, 40)) * np.logspace(0, -9, 40),
    "equal columns": lambda rng: np.repeat(rng.normal(size=(2, 20, 5)), 3, axis=2),
    "huge": lambda rng: rng.normal(size=(2, 5, 4)) * 1e30,
    "tiny": lambda rng: rng.normal(size=(2, 33, 7)) * 1e-30,
    "one row": lambda rng: rng.normal(size=(2, 1, 33)),
    "one column": lambda rng: rng.normal(size=(2, 33, 1)),
    "one number": lambda rng: rng.normal(size=(3, 1, 1)),
    "far taller": lambda rng: rng.normal(size=(2, 512, 3)),
    "far wider": lambda rng: rng.normal(size=(2, 3, 512)),
    "rank 1": lambda rng: low_rank(150, 150, 1, 0.0, rng)[None],
    "falling diagonal": lambda rng: np.diag(np.arange(40.0, 0, -1))[None],
    "rising diagonal": lambda rng: np.diag(np.logspace(-12, 0, 40))[None],
    "rising bidiagonal": lambda rng: (np.diag(np.logspace(-6, 0, 60)) + np.diag(np.logspace(-6, 0, 60)[1:], 1))[None],
    "rows and columns of zeros": lambda rng: np.stack(
        [without([0, 1, 7], [0, 3], 12, 15, rng), without([11], [13, 14], 12, 15, rng), without([], [5], 12, 15, rng)]
    ),
    "upper triangle of ones": lambda rng: np.triu(np.ones((1, 64, 64))),
}
ZEROS = {"first": [0], "last": [11], "within": [5], "several": [3, 4, 9], "all": list(range(12))}  # bidiagonal
SHARES = (0.0, 0.02, 0.3, 0.8)  # of the largest singular value: lam


def slices(name, dtype):
    """Return X (N, m, n) of a case."""
    return np.ascontiguousarray(SLICES[name](np.random.default_rng(7)), dtype)
