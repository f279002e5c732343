"""Products with sparse features, on both devices, and their covariance, which scipy computes on the host."""

import functools

import numpy as np

from gpukit.ranking.scaling import inverse


class Sparse:
    """Products with a sparse X, stored by rows and by columns; steps: the module cpu.py or gpu.py.

    by_columns: its transpose, CSR, or None to make it when it is needed.
    """

    def __init__(self, X, steps, by_columns=None):
        self.steps, self.host, self.by_columns = steps, X.tocsr(), by_columns
        self.X = steps.csr(self.host)
        self.v, self.out = steps.empty(X.shape[1], np.float64), steps.empty(X.shape[1], np.float64)

    @functools.cached_property
    def T(self):
        """The transpose on the device, which scores do not need."""
        return self.steps.csr(self.host.T.tocsr() if self.by_columns is None else self.by_columns)

    def scores(self, v, out):
        """out = X v."""
        self.steps.copy_in(v, self.v)
        self.multiply(self.v, out)

    def multiply(self, v, out):
        """out = X v, for v on the device."""
        self.steps.run("csr_product", 32 * out.size, self.X, v, out)  # a warp for each row

    def transposed(self, z):
        """Return X'z (n,) on the host."""
        self.steps.run("csr_product", 32 * self.out.size, self.T, z, self.out)
        return self.steps.copy_out(self.out)

    def gram(self, offsets, query, pulls, diagonal=False):
        """See pair_sums.PairSums.gram."""
        return sparse_gram(self.host, self.steps.copy_out(offsets), self.steps.copy_out(pulls), diagonal)


def sparse_gram(X, offsets, pulls, diagonal=False):
    """Return twins.matrix.weighted_gram for a CSR matrix X (l, n): X'BX - sum over queries of s s' / b, dense (n, n)
    float64.

    B = diag(pulls), s = the query's sum of pulls_i x_i, b = its sum of pulls. diagonal: return the diagonal alone,
    (n,), without the matrix.
    """
    import scipy.sparse

    X = scipy.sparse.csr_array(X, dtype=np.float64)
    weighted = scipy.sparse.diags_array(pulls) @ X
    members = np.ones(len(pulls)), np.arange(len(pulls)), offsets
    by_query = scipy.sparse.csr_array(members, (len(offsets) - 1, len(pulls)))
    sums, totals = by_query @ weighted, by_query @ pulls
    means = scipy.sparse.diags_array(inverse(totals)) @ sums
    if diagonal:
        return np.maximum((X * weighted).sum(axis=0) - (sums * means).sum(axis=0), 0.0)
    return np.asarray((X.T @ weighted - sums.T @ means).todense())
