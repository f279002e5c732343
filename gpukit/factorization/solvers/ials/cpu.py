"""Steps of iALS on the CPU; gpu.py has the same names."""

import numpy as np

from gpukit.device.cpu_arrays import fetch, resident
from gpukit.factorization.solvers.ials.twins.descent import begin_descent, descend
from gpukit.factorization.solvers.ials.twins.products import products_of_pieces
from gpukit.factorization.solvers.squares import cpu as squares
from gpukit.factorization.solvers.squares.formulas import ONE, ZERO

__all__ = ["MOMENT_PIECES", "ON_GPU", "Descent", "fetch", "resident", "squares"]

ON_GPU = False
MOMENT_PIECES = 16  # of the sums over all rows of a side: work for as many threads, whatever they are


class Descent:
    """Conjugate gradients over all rows of a side at once; see gpu.py."""

    def __init__(self, layout, rows, pieces):
        width = layout.n_factors
        self.sums, self.width = np.empty((pieces, width), np.float32), width
        self.ways, self.left = (np.empty((rows, width), np.float32) for _ in range(2))
        self.rests = np.empty(rows, np.float32)

    def solve(self, batch, data, other, matrices, steps, own):
        """Bring the rows of a batch forward by some steps; see gpu.py."""
        pieces, owners, decays = batch
        shown = pieces, data.minor, data.weights
        lists = owners, decays, self.sums, *matrices, self.ways, self.left, self.rests, own
        products_of_pieces(*shown, ONE, own, other, self.sums)
        begin_descent(*lists)
        for _ in range(steps):
            products_of_pieces(*shown, ZERO, self.ways, other, self.sums)
            descend(*lists)
