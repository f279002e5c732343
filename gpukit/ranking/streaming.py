"""Features that do not fit in a GPU's memory: blocks of whole queries that are copied there when they are needed."""

import numpy as np

from gpukit.ranking.feature_map import query_blocks
from gpukit.ranking.solvers.choose import stored_values

INDEX = np.dtype(np.int64).itemsize  # of an entry of indptr on the GPU


class HostBlocks:
    """X (l, n) of the host, C-contiguous or CSR, by blocks of the queries offsets (m + 1,).

    most: bytes of a block, which only a longer query exceeds. queries [(first, last)]: of each block; sizes (blocks,):
    its bytes on the GPU; kept: the number of the first blocks that stay there.
    """

    def __init__(self, X, offsets, most):
        self.X, self.shape, self.dtype, self.kept = X, X.shape, X.dtype, 0
        self.size = stored_values(X)
        self.is_sparse = hasattr(X, "indptr")
        self.offsets = offsets = np.asarray(offsets, np.int64)
        ends = self.bytes_before(offsets)
        blocks = query_blocks(ends, most)
        self.queries = [block for block in blocks if offsets[block[1]] > offsets[block[0]]]
        bounds = np.array(self.queries)
        self.rows = [slice(*bound) for bound in offsets[bounds].tolist()]
        self.sizes = np.diff(ends[bounds], axis=1)[:, 0] + INDEX * (self.shape[1] + 2) * self.is_sparse
        self.by_columns = {}

    def bytes_before(self, rows):
        """Return the bytes of the documents before each of rows (any,) on the GPU, where CSR is stored twice."""
        if self.is_sparse:
            return 2 * (4 + self.dtype.itemsize) * self.X.indptr[rows].astype(np.int64) + INDEX * rows
        n = self.shape[1]
        return rows * (n + -n % 4) * self.dtype.itemsize

    def part(self, number):
        """Return the arguments of a Matrix of a block: X of its documents, and for CSR its transpose."""
        X = self.X[self.rows[number]]
        if not self.is_sparse:
            return (X,)
        if number not in self.by_columns:
            self.by_columns[number] = X.T.tocsr()
        return X, self.by_columns[number]

    def keep(self, spare):
        """Let the first blocks stay on the GPU, as far as their bytes are at most `spare`."""
        self.kept = int(np.searchsorted(np.cumsum(self.sizes), spare, "right"))

    @property
    def travelling(self):
        """Bytes that travel in each pass."""
        return int(self.sizes[self.kept :].sum())
