"""Steps of iALS on the CPU; gpu.py has the same names."""

import numpy as np

from gpukit.device.cpu_arrays import resident
from gpukit.factorization.solvers.ials.descent_twins import begin_descent, descend
from gpukit.factorization.solvers.ials.formulas import PANEL, Directions
from gpukit.factorization.solvers.ials.inverse_twins import invert_panel
from gpukit.factorization.solvers.ials.products_twins import products_of_pieces
from gpukit.factorization.solvers.squares import cpu as squares
from gpukit.factorization.solvers.squares.formulas import ONE, ZERO

MOMENT_PIECES = 16  # partial sums over all rows of a side, for any number of threads


def inverse_of(shared, decay):
    """Return the inverse of S + decay I; see gpu.py."""
    source, out = (np.empty(shared.shape) for _ in range(2))
    result = np.empty_like(shared)
    for step in range(-(-len(shared) // PANEL)):
        invert_panel(shared, np.float64(decay), step, source, out, result)
        source, out = out, source
    return result


class Descent:
    """Conjugate gradients over all rows of a side; see gpu.py."""

    def __init__(self, layout, rows, pieces):
        width = layout.n_factors
        self.sums, self.width = np.empty((pieces, width), np.float32), width
        matrices = (np.empty((rows, width), np.float32) for _ in range(2))
        self.state = Directions(*matrices, np.empty(rows, np.float32))

    def solve(self, batch, data, other, matrices, steps, table):
        """Make some steps for the rows of a batch; see gpu.py."""
        pieces, owners, decays = batch
        shown = pieces, data.minor, data.weights
        before, after = (owners, decays, self.sums, *matrices), (self.state, table)
        products_of_pieces(*shown, ONE, table, other, self.sums)
        begin_descent(*before, *after)
        for step in range(1, steps + 1):
            products_of_pieces(*shown, ZERO, self.state.ways, other, self.sums)
            descend(*before, step == steps, *after)
