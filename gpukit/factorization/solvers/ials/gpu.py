"""Steps of iALS on a GPU; cpu.py has the same names."""

import numpy as np

from gpukit._driver import device_array, launch
from gpukit.device.gpu_arrays import fetch, resident
from gpukit.factorization.solvers.ials.kernels import descent, products
from gpukit.factorization.solvers.ials.plan import rows_of_block
from gpukit.factorization.solvers.squares import gpu as squares
from gpukit.factorization.solvers.squares.formulas import ONE, ZERO

__all__ = ["MOMENT_PIECES", "ON_GPU", "Descent", "fetch", "resident", "squares"]

ON_GPU = True
MOMENT_PIECES = 256  # of the sums over all rows of a side: about two blocks a multiprocessor


class Descent:
    """Conjugate gradients over all rows of a side at once: of a layout.Layout, up to `rows` rows in up to `pieces`
    pieces."""

    def __init__(self, layout, rows, pieces):
        self.width = layout.lanes * layout.factors
        self.sums = device_array((pieces, self.width), np.float32)
        self.ways, self.left = (device_array((rows, self.width), np.float32) for _ in range(2))
        self.rests = device_array(rows, np.float32)
        self.products = products.make_products_of_pieces(layout.lanes, layout.factors)
        self.begin, self.descend = descent.make_descent(self.width)

    def solve(self, batch, data, other, matrices, steps, own):
        """Bring the rows of a batch forward by some steps, the table `other` held.

        batch: see squares.gpu.Equations.solve; matrices: S and M of kernels.descent; own: the table of the rows, whose
        factors change. Queued, not waited for.
        """
        pieces, owners, decays = batch
        lists = owners, decays, self.sums, *matrices, self.ways, self.left, self.rests, own
        grid = -(-owners.shape[0] // rows_of_block(self.width))
        self._multiply(pieces, data, ONE, own, other)
        launch(self.begin, grid, descent.THREADS, *lists)
        for _ in range(steps):
            self._multiply(pieces, data, ZERO, self.ways, other)
            launch(self.descend, grid, descent.THREADS, *lists)

    def _multiply(self, pieces, data, goal, ways, other):
        """Queue products_of_pieces."""
        shown = pieces, data.minor, data.weights, goal, ways, other, self.sums
        launch(self.products, pieces.shape[0], products.THREADS, *shown)
