"""Small tables on small graphs."""

import numpy as np
from scipy import sparse

from gpukit.imputation.smoothness.method import Observed


def observed(vertices=5, columns=17, lags=(1, 4), seed=0, isolated=True):
    """Return (solve.Observed, dense L, at)."""
    rng = np.random.default_rng(seed)
    A = rng.random((vertices, vertices)) * (rng.random((vertices, vertices)) < 0.6)
    A = np.triu(A, 1) + np.triu(A, 1).T
    if isolated:
        A[0] = A[:, 0] = 0
    d = A.sum(axis=1)
    root = np.where(d > 0, d, 1) ** -0.5
    L = np.diag((d > 0) * 1.0) - root[:, None] * A * root
    rows = sparse.csr_array(L)
    seen = rng.random((vertices, columns)) > 0.4
    at = np.cumsum(rng.integers(1, 4, columns)).astype(float)
    gaps = np.append(np.median(np.diff(at)) / np.diff(at), 0).astype(np.float32) if columns > 1 else np.zeros(1, "f4")
    edges = rows.indptr.astype(np.int32), rows.indices.astype(np.int32), rows.data.astype(np.float32)
    values = np.where(seen, rng.normal(size=seen.shape), 0).astype(np.float32)
    return Observed(values, seen, gaps, np.array(lags, np.int32), edges, L.diagonal().astype(np.float32)), L, at
