"""Features by blocks of documents, and what passes over them save.

HostBlocks do not fit in a GPU's memory, and are copied there when they are needed. Recall has the scores of linear
combinations of recent vectors without a pass: a Newton step is a combination of the directions whose products with the
Hessian conjugate gradients have computed, and each of these products needed the scores of its direction.
"""

import numpy as np

from gpukit.ranking.solvers.choose import stored_values


def make_runs(offsets, most):
    """Return [[slices]]: documents of whole queries in one slice, or of one long query in several.

    offsets (m + 1,), or the number of documents without queries; most: documents of a slice.
    """
    if np.ndim(offsets) == 0:
        return [[slice(first, min(first + most, offsets))] for first in range(0, offsets, most)]
    runs = []
    for first, last in query_blocks(offsets, most):
        begin, end = int(offsets[first]), int(offsets[last])
        runs.append([slice(start, min(start + most, end)) for start in range(begin, end, most)])
    return runs


def query_blocks(offsets, most):
    """Return [(first, last)]: ranges of queries that have at most `most` documents, or of one longer query."""
    offsets, blocks, first = np.asarray(offsets, np.int64), [], 0
    while first < len(offsets) - 1:
        last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + most, "right")) - 1)
        blocks.append((first, last))
        first = last
    return blocks


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


MOST = 8  # vectors; each has its scores, 8 bytes per document
ROUNDING = 16 * float(np.finfo(np.float64).eps)  # of a feature's weight, relative to its summands


class Recall:
    """Vectors (n,) with their scores (l,), which stay on their device.

    No vector is itself a combination, so rounding errors do not accumulate.
    """

    def __init__(self):
        self.vectors, self.scores = [], []

    def add(self, v, scores):
        """Keep v, not 0, and a copy of its scores; without the earlier ones if there are MOST."""
        if len(self.vectors) == MOST:
            self.vectors, self.scores = [], []
        self.vectors.append(v.copy())
        self.scores.append(scores.copy())

    def combine(self, w, out):
        """Set out (l,) to the scores of w; return False if w is not a combination to within rounding."""
        factors = self.factors(w)
        if factors is None:
            return False
        out[:] = 0.0
        for factor, scores in zip(factors.tolist(), self.scores, strict=True):
            out += factor * scores
        return True

    def factors(self, w):
        """Return the factor of each vector in w, or None."""
        if not w.any():
            return np.zeros(len(self.vectors))
        if not self.vectors or not np.isfinite([*self.vectors, w]).all():
            return None
        from scipy.linalg import lstsq

        cancellation = 64  # largest summand, relative to the combination
        norms = np.linalg.norm(self.vectors, axis=1)
        columns = np.transpose(self.vectors) / norms
        sizes = np.abs(columns).sum(axis=1)  # so that all features count alike, in any units
        if w[sizes == 0.0].any():
            return None
        columns, w = columns[sizes > 0.0] / sizes[sizes > 0.0, None], w[sizes > 0.0] / sizes[sizes > 0.0]
        factors = lstsq(columns, w)[0]
        factors += lstsq(columns, w - columns @ factors)[0]
        largest = np.abs(factors).max()
        is_close = np.abs(w - columns @ factors).max() <= ROUNDING * largest
        return factors / norms if is_close and largest <= cancellation * np.abs(w).max() else None
