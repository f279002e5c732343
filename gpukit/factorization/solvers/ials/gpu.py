"""Steps of iALS on a GPU; cpu.py has the same names."""

import numpy as np

from gpukit._driver import device_array, launch
from gpukit.device.gpu_arrays import resident
from gpukit.factorization.solvers.ials import descent_kernels, inverse_kernels, products_kernels
from gpukit.factorization.solvers.ials.formulas import PANEL, Directions, rows_of_block
from gpukit.factorization.solvers.squares import gpu as squares
from gpukit.factorization.solvers.squares.formulas import ONE, ZERO

MOMENT_PIECES = 256  # partial sums over all rows of a side: about two blocks per multiprocessor


def inverse_of(shared, decay):
    """Queue and return the inverse of S + decay I, (n, n) float32; shared: S (n, n) float32."""
    n, steps = shared.shape[0], -(-shared.shape[0] // PANEL)
    source, out = (device_array((n, n), np.float64) for _ in range(2))
    result = device_array((n, n), np.float32)
    for step in range(steps):
        numbers = shared, np.float64(decay), step, source, out, result
        launch(inverse_kernels.invert_panel, (steps, steps), inverse_kernels.THREADS, *numbers)
        source, out = out, source
    return result


class Descent:
    """Conjugate gradients over all rows of a side, for a layout.Layout, up to `rows` rows in up to `pieces` pieces."""

    def __init__(self, layout, rows, pieces):
        self.width = layout.lanes * layout.factors
        self.sums = device_array((pieces, self.width), np.float32)
        matrices = (device_array((rows, self.width), np.float32) for _ in range(2))
        self.state = Directions(*matrices, device_array(rows, np.float32))
        self.products = products_kernels.make_products_of_pieces(layout.lanes, layout.factors)
        self.begin, self.descend = descent_kernels.make_descent(self.width)

    def solve(self, batch, data, other, matrices, steps, table):
        """Queue some steps for the rows of a batch, with the table `other` fixed.

        batch: see squares.gpu.Equations.solve; matrices: S and M of kernels.descent; table: parameter rows, whose
        factors change.
        """
        pieces, owners, decays = batch
        before, after = (owners, decays, self.sums, *matrices), (self.state, table)
        grid = -(-owners.shape[0] // rows_of_block(self.width))
        self._multiply(pieces, data, ONE, table, other)
        launch(self.begin, grid, descent_kernels.THREADS, *before, *after)
        for step in range(1, steps + 1):
            self._multiply(pieces, data, ZERO, self.state.ways, other)
            launch(self.descend, grid, descent_kernels.THREADS, *before, step == steps, *after)

    def _multiply(self, pieces, data, goal, ways, other):
        """Queue products_of_pieces."""
        shown = pieces, data.minor, data.weights, goal, ways, other, self.sums
        launch(self.products, pieces.shape[0], products_kernels.THREADS, *shown)
