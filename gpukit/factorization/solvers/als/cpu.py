"""A batch of rows' normal equations on the CPU; gpu.py has the same names."""

import numpy as np

from gpukit.device.cpu_arrays import resident
from gpukit.factorization.solvers.als.plan import is_direct
from gpukit.factorization.solvers.als.twins.cholesky import solve_by_cholesky
from gpukit.factorization.solvers.als.twins.gradients import solve_by_gradients
from gpukit.factorization.solvers.als.twins.gram import gram_of_pieces

__all__ = ["LONGEST", "SCRATCH", "Equations", "resident"]

LONGEST = 8192  # ratings of a piece
SCRATCH = 32 << 20  # bytes of Gram matrices at once


class Equations:
    """The normal equations of rows of F factors, `most` pieces at once."""

    def __init__(self, n_factors, most):
        self.n_factors = n_factors
        self.grams = np.empty((most, n_factors + 2, n_factors + 2), np.float32)

    @staticmethod
    def numbers(n_factors):
        """Numbers of a Gram matrix."""
        return (n_factors + 2) ** 2

    def solve(self, batch, side, other, biased, weights, own):
        """Rows of the table `own` solved for; see gpu.py."""
        pieces, owners = batch
        gram_of_pieces(pieces, side.minor, side.values, other, biased, self.grams)
        if is_direct(self.n_factors):
            solve_by_cholesky(owners, self.grams, weights.decay, weights.damping, own)
        else:
            solve_by_gradients(owners, self.grams, *weights, own)
