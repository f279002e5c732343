"""Normal equations of a batch of rows on the GPU; cpu.py has the same names."""

import numpy as np

from gpukit._driver import device_array, launch, zeros
from gpukit.device.gpu_arrays import resident
from gpukit.factorization.solvers.squares.cholesky_kernels import make_solve_by_cholesky
from gpukit.factorization.solvers.squares.gram_kernels import as_matrix, make_gram_of_pieces, sum_of_grams
from gpukit.factorization.solvers.squares.plan import shape_of

LONGEST = 1024  # ratings of a piece, which a block processes
SCRATCH = 256 << 20  # bytes of concurrent Gram matrices
BLOCK = 128  # threads of kernels with one number per thread


class Equations:
    """Normal equations of rows of F factors, `most` pieces at once."""

    def __init__(self, n_factors, most):
        self.shape = shape_of(n_factors)
        self.grams = device_array((most, self.numbers(n_factors) // self.shape.tiles, self.shape.tiles), np.float32)
        self.gram_of_pieces = make_gram_of_pieces(*self.shape)

    @staticmethod
    def numbers(n_factors):
        """Return the numbers of a Gram matrix."""
        return 64 * shape_of(n_factors).tiles

    def nothing(self):
        """Return a Gram matrix of no rows."""
        return zeros((1, *self.grams.shape[1:]), np.float32)

    def _add_up(self, pieces, data, other, biased):
        """Queue the Gram matrices of pieces."""
        grid = pieces.shape[0], self.shape.groups
        launch(self.gram_of_pieces, grid, self.shape.threads, pieces, *data, other, biased, self.grams)

    def sums(self, pieces, data, table):
        """Return the Gram matrix of a table's rows, without biases: of arrays.Data in plan.Cut's pieces, `most` at
        most."""
        self._add_up(pieces, data, table, False)
        out = device_array((1, *self.grams.shape[1:]), np.float32)
        launch(sum_of_grams, -(-out.size // BLOCK), BLOCK, self.grams[: pieces.shape[0]], out)
        return out

    def matrix(self, gram, size):
        """Return the factors' part of a Gram matrix, both halves, (size, size) float32."""
        out = device_array((size, size), np.float32)
        launch(as_matrix, -(-out.size // BLOCK), BLOCK, gram, out)
        return out

    def solve(self, batch, data, other, terms, table):
        """Queue the solution for rows of `table`, with the table `other` fixed.

        batch: (pieces, owners) of plan.Cut and decays (rows,) float32, lambda of each owner, on the device; data,
        terms: see plan.py; F: up to plan.MOST_FACTORS.
        """
        pieces, owners, decays = batch
        self._add_up(pieces, data, other, terms.biased)
        kernel = make_solve_by_cholesky(*self.shape[:3], self.shape.whole)
        system = self.grams, terms.shared, decays, terms.damping
        launch(kernel, owners.shape[0], self.shape.whole, owners, *system, table)
