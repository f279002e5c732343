"""What a session needs of a device: cpu.py and gpu.py are modules with these names. Arrays are the device's own."""

from typing import Protocol


class Matrix(Protocol):
    """X (l, n) on the device, dense or sparse; documents stand query by query."""

    def scores(self, v, out):
        """out = X v; v (n,) float64 on the host, out (l,) float64."""

    def transposed(self, z):
        """X'z (n,) float64 on the host."""

    def product(self, over, partners, room):
        """A function (v, margin, exact) -> (n + 1,) float64 on the host, see session.Session.walk: over an arrays.Walk
        with Partners, whose arrays may change from call to call."""

    def gram(self, offsets, query, pulls):
        """(n, n) float64 on the host; see session.Session.gram."""

    def gram_diagonal(self, offsets, query, pulls):
        """(n,) float64 on the host; see session.Session.gram_diagonal."""


class Steps(Protocol):
    """A module of steps. sorting: gpukit.sorting's module for the same device. The CPU's kernels are the twins."""

    sorting: object

    def put(self, array):
        """A host array on the device, contiguous."""

    def empty(self, shape, dtype):
        """A new array."""

    def walk_blocks(self):
        """How many lists of queries `problem.share_out` makes."""

    def room(self, longest, n, blocks):
        """Scratch of `Matrix.product` for queries of at most `longest` documents; what it is only the device knows."""

    def first_fault(self, X):
        """The first row of an array X (l, n) of the device with a number that is not finite, or -1."""

    def row_of(self, X, row):
        """A row of X, on the host."""

    def total(self, array):
        """The sum of an array as a float."""

    def matrix(self, X) -> Matrix:
        """A host X (l, n), dense or CSR, as the Matrix of the device."""

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
        """kernels.p_swx.p_swx; the CPU has dcm and ost, with the same arguments, besides."""
