"""A batch of rows' normal equations on the GPU; cpu.py has the same names."""

import numpy as np

from gpukit._driver import device_array, launch
from gpukit.device.gpu_arrays import resident
from gpukit.factorization.solvers.als.kernels.cholesky import make_solve_by_cholesky
from gpukit.factorization.solvers.als.kernels.gradients import THREADS, make_solve_by_gradients
from gpukit.factorization.solvers.als.kernels.gram import make_gram_of_pieces
from gpukit.factorization.solvers.als.plan import is_direct, shape_of

__all__ = ["LONGEST", "SCRATCH", "Equations", "resident"]

LONGEST = 1024  # ratings of a piece: a block's work
SCRATCH = 256 << 20  # bytes of Gram matrices at once


class Equations:
    """The normal equations of rows of F factors, `most` pieces at once."""

    def __init__(self, n_factors, most):
        self.shape, self.direct = shape_of(n_factors), is_direct(n_factors)
        self.grams = device_array((most, self.numbers(n_factors) // self.shape.tiles, self.shape.tiles), np.float32)
        self.gram_of_pieces = make_gram_of_pieces(*self.shape)
        if self.direct:
            self.solution = make_solve_by_cholesky(*self.shape[:4])
        else:
            self.solution = make_solve_by_gradients(*self.shape[:3])

    @staticmethod
    def numbers(n_factors):
        """Numbers of a Gram matrix."""
        return 64 * shape_of(n_factors).tiles

    def solve(self, batch, side, other, biased, weights, own):
        """Rows of the table `own` solved for, the table `other` held.

        batch: (pieces, owners) of plan.Cut, on the device; side: arrays.Side of the rows; biased: whether biases are
        solved for too; weights: training.Weights. Queued, not waited for.
        """
        pieces, owners = batch
        grid = pieces.shape[0], self.shape.groups
        launch(
            self.gram_of_pieces, grid, self.shape.threads, pieces, side.minor, side.values, other, biased, self.grams
        )
        if self.direct:
            solver = self.shape.threads, owners, self.grams, weights.decay, weights.damping, own
            launch(self.solution, owners.shape[0], *solver)
        else:
            launch(self.solution, owners.shape[0], THREADS, owners, self.grams, *weights, own)
