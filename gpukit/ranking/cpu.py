"""Steps of the pair sums on the CPU, the twins themselves; gpu.py has the same names and arguments."""

import sys

import numpy as np

from gpukit import timing
from gpukit.device.cpu_arrays import find_named
from gpukit.ranking.feature_map import Expanded
from gpukit.ranking.problem import Csr
from gpukit.ranking.scaling import inverse, scatter
from gpukit.ranking.solvers import counting
from gpukit.ranking.solvers.counting import BLOCKS
from gpukit.ranking.sparse import Sparse
from gpukit.ranking.twins import matrix as matrix_twins
from gpukit.ranking.twins import pair_sums as pair_sums_twins
from gpukit.sorting import cpu as sorting  # noqa: F401

SHARES = 8  # of the covariance, each with an (n, n) sum


def put(array):
    """Return the array, contiguous."""
    return np.ascontiguousarray(array)


def empty(shape, dtype):
    """Return a new array."""
    return np.empty(shape, dtype)


def walk_blocks():
    """Return the number of lists of queries."""
    return BLOCKS


def room(longest, n, blocks):
    """Return None: the twins have their own scratch memory."""


def run(name, count, *arguments):
    """Call a twin or a solver of the CPU by name; count: see gpu.run."""
    find_named((matrix_twins, pair_sums_twins, counting), name)(*arguments)


def csr(X):
    """Return the problem.Csr of a CSR matrix."""
    return Csr(X.indptr, X.indices, X.data)


def copy_in(array, target):
    """target = array."""
    np.copyto(target, array)


def copy_out(array):
    """Return a copy of an array."""
    return array.copy()


def pair_sums(room, *arguments):
    """twins.pair_sums.pair_sums."""
    pair_sums_twins.pair_sums(*arguments)


def matrix(X):
    """Return the Matrix of X, dense, sparse or a feature_map.Expanded."""
    if isinstance(X, Expanded):
        return Blocks(X)
    return Sparse(X, sys.modules[__name__]) if hasattr(X, "indptr") else Dense(X)


def sum_rows(partial):
    """Return the sum of the rows of partial (rows, columns)."""
    out = np.empty(partial.shape[1])
    matrix_twins.add_rows(partial, out)
    return out


class Dense:
    """Products with a dense X (l, n)."""

    def __init__(self, X):
        self.X = X

    def scores(self, v, out):
        """out = X v."""
        matrix_twins.document_scores(self.X, v, out)

    def transposed(self, z):
        """Return X'z (n,)."""
        partial = np.empty((BLOCKS, self.X.shape[1]))
        matrix_twins.transposed_product(self.X, z, partial)
        return sum_rows(partial)

    def product(self, over, partners, room):
        """Return a function (v, margin, exact) -> (n + 1,) float64 on the host, see pair_sums.PairSums.walk.

        It is over an problem.Walk with Partners, whose arrays may change from call to call.
        """

        def product(v, margin, exact):
            partial = np.empty((len(over.firsts) - 1, len(v) + 1))
            pair_sums_twins.pair_product(self.X, v, margin, over, partners, partial)
            return sum_rows(partial)

        return product

    def gram(self, offsets, query, pulls, diagonal=False):
        """See pair_sums.PairSums.gram."""
        if diagonal:
            return scatter(self.X, offsets, pulls, np.ones(self.X.shape[1]))
        with timing.compiling():
            import scipy.linalg.cython_blas  # noqa: F401 - the first product in compiled code would load it

        n = self.X.shape[1]
        means, partial = np.empty((len(offsets) - 1, n)), np.empty((SHARES, n, n))
        matrix_twins.query_means(self.X, offsets, pulls, means)
        matrix_twins.weighted_gram(self.X, means, query, pulls, np.empty((0, 2), np.int32), partial)
        with np.errstate(invalid="ignore", over="ignore"):  # objective.Preconditioner reports products that overflow
            return partial.sum(axis=0)


class Blocks:
    """Products with a feature_map.Expanded, by blocks of documents."""

    def __init__(self, X):
        self.X, self.slices = X, [rows for run in X.runs for rows in run]
        self.last = None  # v and X v of the last call: an evaluation has the same v twice

    def scores(self, v, out):
        """out = X v."""
        if self.last and np.array_equal(v, self.last[0]):
            np.copyto(out, self.last[1])
            return

        def fill(rows):
            out[rows] = self.X.block(rows) @ v

        self.X.each(fill, self.slices)
        self.last = v.copy(), out

    def transposed(self, z):
        """Return X'z (n,)."""
        return np.sum(self.X.each(lambda rows: z[rows] @ self.X.block(rows), self.slices), axis=0)

    def gram(self, offsets, query, pulls, diagonal=False):
        """See pair_sums.PairSums.gram."""
        if diagonal:
            products = self._centred(query, pulls, lambda left, right: np.einsum("ij,ij->j", left, right))
            return np.maximum(products, 0.0)
        return self._centred(query, pulls, lambda left, right: left.T @ right)

    def _centred(self, query, pulls, multiply):
        """Return the sum of multiply(pulls times X, X) for X less the weighted means of the queries.

        Features are shifted by those of the query's first document, so that a constant gives exactly 0.
        """

        def add(share):
            return sum(products(run) for run in share)

        def products(run):
            total, sums, weight, first = 0.0, 0.0, 0.0, None
            for rows in run:
                starts, local = np.unique(query[rows], return_index=True, return_inverse=True)[1:]
                block = self.X.block(rows)
                first = block[starts] if first is None else first
                block = block - first[local]
                weighted = block * pulls[rows, None]
                total = total + multiply(weighted, block)
                sums = sums + np.add.reduceat(weighted, starts)
                weight = weight + np.add.reduceat(pulls[rows], starts)
            return total - multiply(sums * inverse(weight)[:, None], sums)

        runs = self.X.runs
        return sum(self.X.each(add, [runs[first::SHARES] for first in range(min(SHARES, len(runs)))]))
