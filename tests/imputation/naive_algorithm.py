"""Algorithm 1 of the graph-tensor imputation paper, line by line, in float64, with numpy.linalg.svd."""

import numpy as np


def basis(A):
    """Return (mu (N,), U (N, N)) of the normalized Laplacian.

    A is dense and has no isolated vertices.
    """
    root = np.sqrt(A.sum(axis=1))
    return np.linalg.eigh(np.eye(len(A)) - A / np.outer(root, root))


def low_rank(U, m, n, rank, rng):
    """Return (N, m, n): the inverse transform of slices of a rank.

    Each slice is a product of two Gaussian matrices.
    """
    Z = rng.normal(size=(U.shape[1], m, rank)) @ rng.normal(size=(U.shape[1], rank, n))
    return np.einsum("ik,kab->iab", U, Z)


def shrunk(X, lam, cap=None):
    """Return U (S - lam)+ V' of one matrix, and its rank.

    At most cap singular vectors are used.
    """
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    s = np.maximum(s - lam, 0)
    s[len(s) if cap is None else cap :] = 0
    return (U * s) @ Vt, int((s > 0).sum())


def observed_only(G, mask):
    """P_Omega(G); mask (N,) or (N, m, n)."""
    return np.where(mask.reshape(len(mask), *((1, 1) if mask.ndim == 1 else mask.shape[1:])), G, 0.0)


def first_lambda(U, G, mask):
    """Return (K,) the largest singular value of each spectral slice of P_Omega(G)."""
    return np.array([np.linalg.norm(Z, 2) for Z in np.einsum("ik,iab->kab", U, observed_only(G, mask))])


def iteration(U, G, mask, estimate, lam, cap=None):
    """Lines 7-10: return (the next estimate (N, m, n), ranks (K,))."""
    seen = observed_only(np.ones(G.shape), mask)
    filled = observed_only(G, mask) + (1 - seen) * estimate
    Z = np.einsum("ik,iab->kab", U, filled)
    slices = [shrunk(Z[k], lam[k], None if cap is None else cap[k]) for k in range(len(Z))]
    return np.einsum("ik,kab->iab", U, np.array([Y for Y, _ in slices])), np.array([rank for _, rank in slices])


def algorithm_1(U, G, mask, decay, steps):
    """Return the completed tensor after a number of steps with falling lambda."""
    lam, estimate = first_lambda(U, G, mask), np.zeros(G.shape)
    for step in range(steps):
        estimate, _ = iteration(U, G, mask, estimate, lam * decay**step)
    return observed_only(G, mask) + (1 - observed_only(np.ones(G.shape), mask)) * estimate
