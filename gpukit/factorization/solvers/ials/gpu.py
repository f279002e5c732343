"""Steps of iALS on a GPU; cpu.py has the same names."""

import numpy as np

from gpukit._driver import device_array, launch, zeros
from gpukit.device.gpu_arrays import fetch, resident
from gpukit.factorization.model.layout import EXTRA
from gpukit.factorization.solvers.ials import (
    blocks_kernels,
    descent_kernels,
    few_kernels,
    inverse_kernels,
    products_kernels,
)
from gpukit.factorization.solvers.ials.formulas import FEW, PANEL, block_of, rows_of_block
from gpukit.factorization.solvers.squares import gpu as squares
from gpukit.factorization.solvers.squares.cholesky_kernels import make_solve_by_cholesky
from gpukit.factorization.solvers.squares.formulas import ONE, ZERO
from gpukit.factorization.solvers.squares.plan import shape_of
from gpukit.factorization.solvers.squares.tiles import SQUARE

__all__ = ["MOMENT_PIECES", "ON_GPU", "Blocks", "Descent", "Few", "fetch", "inverse_of", "resident", "squares"]

ON_GPU = True
THREADS = 256  # of kernels with one number per thread
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
        self.ways, self.left = (device_array((rows, self.width), np.float32) for _ in range(2))
        self.rests = device_array(rows, np.float32)
        self.products = products_kernels.make_products_of_pieces(layout.lanes, layout.factors)
        self.begin, self.descend = descent_kernels.make_descent(self.width)

    def solve(self, batch, data, other, matrices, steps, table):
        """Queue some steps for the rows of a batch, with the table `other` fixed.

        batch: see squares.gpu.Equations.solve; matrices: S and M of kernels.descent; table: parameter rows, whose
        factors change.
        """
        pieces, owners, decays = batch
        before, after = (owners, decays, self.sums, *matrices), (self.ways, self.left, self.rests, table)
        grid = -(-owners.shape[0] // rows_of_block(self.width))
        self._multiply(pieces, data, ONE, table, other)
        launch(self.begin, grid, descent_kernels.THREADS, *before, *after)
        for step in range(1, steps + 1):
            self._multiply(pieces, data, ZERO, self.ways, other)
            launch(self.descend, grid, descent_kernels.THREADS, *before, step == steps, *after)

    def _multiply(self, pieces, data, goal, ways, other):
        """Queue products_of_pieces."""
        shown = pieces, data.minor, data.weights, goal, ways, other, self.sums
        launch(self.products, pieces.shape[0], products_kernels.THREADS, *shown)


class Blocks:
    """A block of factors of all rows of a side, for a layout.Layout, up to `rows` rows with `clicks` clicks in `pieces`
    pieces."""

    def __init__(self, layout, rows, clicks, pieces):
        self.width = layout.lanes * layout.factors
        self.size = block_of(self.width)
        self.equations = squares.Equations(self.size, max(pieces, MOMENT_PIECES))
        self.errors = device_array(clicks, np.float32)
        self.columns, self.result = (zeros((rows + 1, self.size + EXTRA), np.float32) for _ in range(2))
        lanes = 8 if self.size <= 64 else 16
        self.whole = blocks_kernels.make_errors_of_pieces(layout.lanes, layout.factors)
        self.part = blocks_kernels.make_errors_of_pieces(lanes, self.size // lanes)
        self.targets = blocks_kernels.make_targets_of_block(self.width, self.size, *shape_of(self.size)[:2])

    def begin(self, batches, minor, other, table):
        """Queue the errors of all clicks of the batches. All methods queue."""
        for pieces, _, _ in batches:
            launch(self.whole, pieces.shape[0], blocks_kernels.OF_PIECE, pieces, minor, True, table, other, self.errors)

    def take(self, first, other):
        """Return the factors from `first` on of the fixed table, (rows, size + EXTRA)."""
        out = self.columns[: other.shape[0]]
        launch(blocks_kernels.take_columns, -(-out.size // THREADS), THREADS, other, first, self.width, out)
        return out

    def aim(self, batch, shared, first, table):
        """Subtract the batch's current rows from the right-hand sides of the equations."""
        _, owners, decays = batch
        grid = -(-owners.shape[0] // rows_of_block(self.width))
        launch(self.targets, grid, descent_kernels.THREADS, owners, decays, shared, first, table, self.equations.grams)

    def add(self, batch, minor, first, columns, table):
        """Add the solution to the batch's rows, and update the errors of its clicks."""
        pieces, owners, _ = batch
        lines = pieces, minor, False, self.result, columns, self.errors
        launch(self.part, pieces.shape[0], blocks_kernels.OF_PIECE, *lines)
        grid = -(-owners.shape[0] * self.size // THREADS)
        launch(blocks_kernels.add_columns, grid, THREADS, owners, self.result, first, self.width, table)


class Few:
    """Rows of few clicks, solved in one unknown per click (formulas.py), for a layout.Layout; `most` rows at once."""

    def __init__(self, layout, rows):
        self.shape, self.width = shape_of(FEW), layout.lanes * layout.factors
        numbers = SQUARE * self.shape.tiles
        self.most = max(1, min(rows, squares.SCRATCH // (4 * numbers)))
        self.grams = device_array((self.most, SQUARE, self.shape.tiles), np.float32)
        self.result = device_array((self.most + 1, 4 * self.shape.quads + EXTRA), np.float32)
        self.nothing, self.none = zeros((1, *self.grams.shape[1:]), np.float32), zeros(self.most, np.float32)
        self.grams_of_few = few_kernels.make_grams_of_few(*self.shape[:3], self.shape.whole)
        self.solution = make_solve_by_cholesky(*self.shape[:3], self.shape.whole)
        self.turn, self.answer = few_kernels.make_turns(self.width)

    def turned(self, table, basis):
        """Return the factors of parameter rows times basis (width, width), (rows + 1, width) float32."""
        out = device_array((table.shape[0], self.width), np.float32)
        launch(self.turn, -(-out.shape[0] // rows_of_block(self.width)), descent_kernels.THREADS, table, basis, out)
        return out

    def solve(self, batch, data, other, terms, table):
        """Queue the solution for rows of the parameter rows `table`; other: the other side's factors, from `turned`.

        batch: (lines, owners, decays) of training.few_batches, on the device; terms: the spectrum and the transposed
        basis.
        """
        lines, owners, decays = batch
        spectrum, back = terms
        count, whole = lines.shape[0], self.shape.whole
        launch(self.grams_of_few, count, whole, lines, data.minor, data.weights, decays, spectrum, other, self.grams)
        launch(self.solution, count, whole, owners, self.grams, self.nothing, self.none, ONE, self.result)
        grid = -(-count // rows_of_block(self.width))
        shown = lines, data.minor, decays, spectrum, self.result, other, back, table
        launch(self.answer, grid, descent_kernels.THREADS, *shown)
