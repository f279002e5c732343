"""The preconditioner's matrix for a sparse X, on the host by scipy's sparse products."""

import numpy as np

from gpukit.ranking.scaling import inverse


def sparse_gram(X, offsets, query, pulls):
    """Return twins.gram.weighted_gram for a CSR matrix X (l, n): X'BX - sum over queries of s s' / b, dense (n, n)
    float64.

    B = diag(pulls), s = the query's sum of pulls_i x_i, b = its sum of pulls.
    """
    X, weighted, sums, means = _by_query(X, offsets, pulls)
    return np.asarray((X.T @ weighted - sums.T @ means).todense())


def sparse_gram_diagonal(X, offsets, pulls):
    """Return the diagonal of `sparse_gram`, (n,) float64, without the matrix."""
    X, weighted, sums, means = _by_query(X, offsets, pulls)
    return np.maximum((X * weighted).sum(axis=0) - (sums * means).sum(axis=0), 0.0)


def _by_query(X, offsets, pulls):
    """Return (X in float64, its rows times pulls, their sums in each query, the weighted means of each query)."""
    import scipy.sparse

    X = scipy.sparse.csr_array(X, dtype=np.float64)
    weighted = scipy.sparse.diags_array(pulls) @ X
    members = np.ones(len(pulls)), np.arange(len(pulls)), offsets
    by_query = scipy.sparse.csr_array(members, (len(offsets) - 1, len(pulls)))
    sums, totals = by_query @ weighted, by_query @ pulls
    return X, weighted, sums, scipy.sparse.diags_array(inverse(totals)) @ sums
