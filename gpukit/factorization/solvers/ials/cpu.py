"""Steps of iALS on the CPU; gpu.py has the same names."""

import numpy as np

from gpukit.device.cpu_arrays import fetch, resident
from gpukit.factorization.model.layout import EXTRA
from gpukit.factorization.solvers.ials.blocks_twins import add_columns, errors_of_pieces, take_columns, targets_of_block
from gpukit.factorization.solvers.ials.descent_twins import begin_descent, descend
from gpukit.factorization.solvers.ials.few_twins import grams_of_few, rows_of_few, turn_rows
from gpukit.factorization.solvers.ials.formulas import FEW, PANEL, block_of
from gpukit.factorization.solvers.ials.inverse_twins import invert_panel
from gpukit.factorization.solvers.ials.products_twins import products_of_pieces
from gpukit.factorization.solvers.squares import cpu as squares
from gpukit.factorization.solvers.squares.cholesky_twins import solve_by_cholesky
from gpukit.factorization.solvers.squares.formulas import ONE, ZERO

__all__ = ["MOMENT_PIECES", "ON_GPU", "Blocks", "Descent", "Few", "fetch", "inverse_of", "resident", "squares"]

ON_GPU = False
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
        self.ways, self.left = (np.empty((rows, width), np.float32) for _ in range(2))
        self.rests = np.empty(rows, np.float32)

    def solve(self, batch, data, other, matrices, steps, table):
        """Make some steps for the rows of a batch; see gpu.py."""
        pieces, owners, decays = batch
        shown = pieces, data.minor, data.weights
        before, after = (owners, decays, self.sums, *matrices), (self.ways, self.left, self.rests, table)
        products_of_pieces(*shown, ONE, table, other, self.sums)
        begin_descent(*before, *after)
        for step in range(1, steps + 1):
            products_of_pieces(*shown, ZERO, self.ways, other, self.sums)
            descend(*before, step == steps, *after)


class Blocks:
    """A block of factors of all rows of a side; see gpu.py."""

    def __init__(self, layout, rows, clicks, pieces):
        self.width = layout.n_factors
        self.size = block_of(self.width)
        self.equations = squares.Equations(self.size, max(pieces, MOMENT_PIECES))
        self.errors = np.empty(clicks, np.float32)
        self.columns, self.result = (np.zeros((rows + 1, self.size + EXTRA), np.float32) for _ in range(2))

    def begin(self, batches, minor, other, table):
        """Compute the errors of all clicks of the batches; see gpu.py."""
        for pieces, _, _ in batches:
            errors_of_pieces(pieces, minor, True, table, other, self.errors)

    def take(self, first, other):
        """Return the factors from `first` on of the fixed table; see gpu.py."""
        take_columns(other, first, self.width, self.columns[: len(other)])
        return self.columns[: len(other)]

    def aim(self, batch, shared, first, table):
        """Subtract the batch's current rows from the right-hand sides; see gpu.py."""
        _, owners, decays = batch
        targets_of_block(owners, decays, shared, first, table, self.equations.grams)

    def add(self, batch, minor, first, columns, table):
        """Add the solution to the batch's rows; see gpu.py."""
        pieces, owners, _ = batch
        errors_of_pieces(pieces, minor, False, self.result, columns, self.errors)
        add_columns(owners, self.result, first, self.width, table)


class Few:
    """Rows of few clicks; see gpu.py."""

    def __init__(self, layout, rows):
        self.rows, self.width = rows, layout.n_factors
        self.most = max(1, squares.SCRATCH // (4 * (FEW + 2) ** 2))
        self.grams = np.empty((self.most, FEW + 2, FEW + 2), np.float32)
        self.result = np.zeros((self.most + 1, FEW + EXTRA), np.float32)

    def turned(self, table, basis):
        """Return the factors of a table in another basis; see gpu.py."""
        out = np.empty((len(table), self.width), np.float32)
        turn_rows(table, basis, out)
        return out

    def solve(self, batch, data, other, terms, table):
        """Solve for a batch of rows; see gpu.py."""
        lines, owners, decays = batch
        spectrum, back = terms
        grams_of_few(lines, data.minor, data.weights, decays, spectrum, other, self.grams)
        nothing = np.zeros(len(lines), np.float32)
        solve_by_cholesky(owners, self.grams, self.grams[:0], nothing, ONE, self.result)
        rows_of_few(lines, data.minor, decays, spectrum, self.result, other, back, table)
