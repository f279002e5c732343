"""Protocols of the device modules cpu.py and gpu.py of a session. Arrays are those of the device."""

from typing import Protocol


class Matrix(Protocol):
    """X (l, n) on the device, dense or sparse, in the order of queries."""

    def scores(self, v, out):
        """out = X v; v (n,) float64 on the host, out (l,) float64."""

    def transposed(self, z):
        """Return X'z (n,) float64 on the host."""

    def product(self, over, partners, room):
        """Return a function (v, margin, exact) -> (n + 1,) float64 on the host, see pair_sums.PairSums.walk.

        It is over an arrays.Walk with Partners, whose arrays may change from call to call.
        """

    def gram(self, offsets, query, pulls):
        """Return the matrix (n, n) float64 on the host; see pair_sums.PairSums.gram."""

    def gram_diagonal(self, offsets, query, pulls):
        """Return the diagonal (n,) float64 on the host; see pair_sums.PairSums.gram_diagonal."""


class Steps(Protocol):
    """A module of steps. sorting: gpukit.sorting's module for the same device. The CPU's kernels are the twins."""

    sorting: object

    def put(self, array):
        """Return a host array on the device, contiguous."""

    def empty(self, shape, dtype):
        """Return a new array."""

    def walk_blocks(self):
        """Return the number of lists of queries for `problem.share_out`."""

    def room(self, longest, n, blocks):
        """Return scratch memory of `Matrix.product` for queries of at most `longest` documents; its form depends on the
        device."""

    def first_fault(self, X):
        """Return the first row of an array X (l, n) of the device with a number that is not finite, or -1."""

    def row_of(self, X, row):
        """Return a row of X, on the host."""

    def total(self, array):
        """Return the sum of an array as a float."""

    def matrix(self, X) -> Matrix:
        """Return the Matrix of a host X (l, n), dense or CSR, on the device."""

    def by_rank(self, scores, place, keys):
        """kernels.matrix.by_rank."""

    def start_planes(self, order, keys, ranks, documents, tables, values):
        """kernels.level_tree.start_planes."""

    def search_plane(self, plane, width, ranks, partners, values, next_values):
        """kernels.level_tree.search_plane."""

    def pair_pulls(self, ranks, level, offsets, weights, pulls):
        """kernels.gram.pair_pulls."""

    def combine(self, u, margin, counts, sums, weights, z, loss):
        """kernels.pair_sums.combine."""

    def p_swx(self, order, scores, level, offsets, u, sums):
        """kernels.p_swx.p_swx; the CPU also has dcm and ost, with the same arguments."""
