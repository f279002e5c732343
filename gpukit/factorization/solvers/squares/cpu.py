"""Normal equations of a batch of rows on the CPU; gpu.py has the same names."""

import numpy as np

from gpukit.device.cpu_arrays import resident
from gpukit.factorization.solvers.squares.cholesky_twins import solve_by_cholesky
from gpukit.factorization.solvers.squares.gram_twins import as_matrix, gram_of_pieces, sum_of_grams

LONGEST = 8192  # ratings of a piece
SCRATCH = 32 << 20  # bytes of concurrent Gram matrices


class Equations:
    """Normal equations of rows of F factors, `most` pieces at once."""

    def __init__(self, n_factors, most):
        self.grams = np.empty((most, n_factors + 2, n_factors + 2), np.float32)

    @staticmethod
    def numbers(n_factors):
        """Return the numbers of a Gram matrix."""
        return (n_factors + 2) ** 2

    def nothing(self):
        """Return a Gram matrix of no rows."""
        return np.zeros((1, *self.grams.shape[1:]), np.float32)

    def sums(self, pieces, data, table):
        """Return the Gram matrix of a table's rows in plan.Cut's pieces; see gpu.py."""
        grams, out = self.grams[: len(pieces)], self.nothing()
        gram_of_pieces(pieces, *data, table, False, grams)
        sum_of_grams(grams, out)
        return out

    def matrix(self, gram, size):
        """Return the factors' part of a Gram matrix, both halves, (size, size) float32."""
        out = np.empty((size, size), np.float32)
        as_matrix(gram, out)
        return out

    def solve(self, batch, data, other, terms, table):
        """Solve for rows of `table`; see gpu.py."""
        pieces, owners, decays = batch
        gram_of_pieces(pieces, *data, other, terms.biased, self.grams)
        solve_by_cholesky(owners, self.grams, terms.shared, decays, terms.damping, table)
