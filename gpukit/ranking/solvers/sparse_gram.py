"""The preconditioner's matrix for a sparse X, on the host: scipy's sparse products are made for it."""

import numpy as np


def sparse_gram(X, offsets, query, pulls):
    """As twins.gram.weighted_gram for a CSR matrix X (l, n): X'BX - sum over queries of s s' / b, dense (n, n) float64.

    B = diag(pulls), s = the query's sum of pulls_i x_i, b = its sum of pulls.
    """
    import scipy.sparse

    X = X.astype(np.float64)
    weighted = scipy.sparse.diags_array(pulls) @ X
    members = np.ones(len(query)), np.arange(len(query)), offsets
    by_query = scipy.sparse.csr_array(members, (len(offsets) - 1, len(query)))
    sums, totals = by_query @ weighted, by_query @ pulls
    scaled = scipy.sparse.diags_array(np.divide(1.0, totals, out=np.zeros_like(totals), where=totals > 0)) @ sums
    return np.asarray((X.T @ weighted - sums.T @ scaled).todense())
