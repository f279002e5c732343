"""Oracles in float64 with dense matrices and plain loops; they import nothing from gpukit."""

import numpy as np


def whole(mask, shape):
    """Return the mask of every entry."""
    out = np.zeros(shape, bool)
    for i in range(shape[0]):
        out[i] = mask[i]
    return out


def laplacian(A):
    return np.diag(A.sum(axis=1)) - A


def normalized_adjacency(A):
    out = np.zeros_like(A)
    degree = A.sum(axis=1)
    for i in range(len(A)):
        for j in range(len(A)):
            if A[i, j]:
                out[i, j] = A[i, j] / np.sqrt(degree[i] * degree[j])
    return out


def normalized_laplacian(A):
    return np.diag((A.sum(axis=1) > 0).astype(float)) - normalized_adjacency(A)


def mean(tensor, mask, how):
    seen = whole(mask, tensor.shape)
    if how == "none":
        return np.zeros(tensor.shape[1:])
    overall = tensor[seen].mean()
    out = np.full(tensor.shape[1:], overall)
    if how == "entry":
        for a, b in np.ndindex(out.shape):
            if seen[:, a, b].any():
                out[a, b] = tensor[seen[:, a, b], a, b].mean()
    return out


def tikhonov(L, tensor, mask, tau):
    """Minimize sum over observed (x - g)^2 + tau x'L x by a dense solve.

    Observed values are kept.
    """
    seen, out = whole(mask, tensor.shape), np.array(tensor, np.float64)
    for a, b in np.ndindex(tensor.shape[1:]):
        s = seen[:, a, b]
        x = np.linalg.lstsq(np.diag(s.astype(float)) + tau * L, np.where(s, tensor[:, a, b], 0.0), rcond=None)[0]
        out[~s, a, b] = x[~s]
    return out


def harmonic(L, tensor, mask):
    """tau -> 0: L x = 0 at missing entries, x = g at observed ones."""
    seen, out = whole(mask, tensor.shape), np.array(tensor, np.float64)
    for a, b in np.ndindex(tensor.shape[1:]):
        s = seen[:, a, b]
        out[~s, a, b] = np.linalg.solve(L[np.ix_(~s, ~s)], -L[np.ix_(~s, s)] @ tensor[s, a, b])
    return out


def feature_propagation(A, tensor, mask, iterations):
    seen, S = whole(mask, tensor.shape), normalized_adjacency(A)
    x = np.where(seen, tensor, 0.0).astype(np.float64)
    for _ in range(iterations):
        new = np.zeros_like(x)
        for i in range(len(A)):
            for j in range(len(A)):
                new[i] += S[i, j] * x[j]
        x = np.where(seen, tensor, new)
    return x
