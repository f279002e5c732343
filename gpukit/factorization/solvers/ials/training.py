"""Training by iALS, for either device."""

from typing import NamedTuple

import numpy as np

from gpukit.device.engine import engine
from gpukit.errors import DataError
from gpukit.factorization.constants import RULES
from gpukit.factorization.prepare import training_data
from gpukit.factorization.solvers.als import Elimination, Half, begin
from gpukit.factorization.solvers.ials import formulas
from gpukit.factorization.solvers.ials.formulas import PANEL, Directions, decays_of
from gpukit.factorization.solvers.squares.formulas import ONE, ZERO
from gpukit.factorization.solvers.squares.plan import Data, Equations, Terms, batches_of, cut, pieces_at_once

__all__ = ["arrange", "begin"]


def arrange(task):
    """Return (the row solver, [users' Half, items' Half]) of a solvers.Task."""
    steps, settings, layout = engine(task.device, "gpukit.factorization.solvers"), task.settings, task.layout
    check_weights(task.orders.levels, task.scale)
    row_solver = formulas.way_of(layout.n_factors) if settings.row_solver == "auto" else settings.row_solver
    most = len(task.orders)  # pieces at once; conjugate gradients need no Gram matrices
    if row_solver == "cholesky":
        most = pieces_at_once(steps, layout.n_factors, task.device, "row_solver='gradients'")
    items = training_data.side_of(task.orders, "items", task.scale, settings.seed, task.steps)
    halves = [half_of(number, side, task, steps, most) for number, side in enumerate((task.data.side, items))]
    largest = max(half.largest for half in halves)
    return create_solver(row_solver, layout, max(task.orders.shape), largest, steps), halves


def check_weights(levels, scale):
    """Raise DataError unless all clicks have positive weights."""
    lowest = float(levels.values.min()) if len(levels.values) else 1.0
    if (lowest - scale.mean) / scale.deviation <= 0:
        raise DataError(f"A click's value is its weight, which must be above 0: the lowest is {lowest:g}.")


def half_of(number, side, task, steps, most):
    """Return the Half of an arrays.Side (0: users, 1: items); most: pieces at once."""
    settings, span = task.settings, task.share.span(number)
    pieces, counts = cut(side.indptr, steps.LONGEST, most, span), np.diff(side.indptr)
    others = task.orders.shape[1 - number]
    scale = others, settings.regularization, settings.unobserved_weight, settings.exponent
    decays, of_all = (decays_of(row_counts, *scale) for row_counts in (pieces.owners[:, 3], counts[counts > 0]))
    ones, values = np.ones(1), task.orders.levels.values
    weights = side.values
    if len(values) == 1:
        weights = steps.resident((values - task.scale.mean) / task.scale.deviation, np.float32)
    data = Data(side.minor, steps.resident(ones, np.float32), weights)
    all_pieces = pieces_of_all_rows(others, settings.unobserved_weight, steps)
    mean = float(of_all.mean(dtype=np.float64)) if len(of_all) else 0.0
    return Half(data, batches_of(pieces, decays, steps), pieces.largest, all_pieces, mean)


def pieces_of_all_rows(rows, weight, steps):
    """Return (pieces, Data) whose Gram matrix is alpha0 V'V of `rows` rows."""
    longest = -(-rows // steps.MOMENT_PIECES)
    pieces = steps.resident(cut(np.array([0, rows]), longest, 1).pieces, np.int64)
    numbers = (steps.resident(np.array([number]), np.float32) for number in (0, weight))
    return pieces, Data(steps.resident(np.arange(rows), np.int32), *numbers)


def create_solver(row_solver, layout, rows, pieces, steps):
    """Return the row solver for up to `rows` rows of a side, `pieces` pieces at once."""
    if row_solver == "cholesky":
        equations = Equations(steps, layout.n_factors, max(pieces, steps.MOMENT_PIECES))
        return Elimination(equations, Terms(False, None, ONE))
    equations = Equations(steps, layout.n_factors, steps.MOMENT_PIECES)
    return Gradients(equations, Descent(steps, layout, rows, pieces))


class Gradients(NamedTuple):
    """A few steps of conjugate gradients from the current rows."""

    equations: object
    descent: object

    def solve(self, half, other, table):
        """Queue a side's half of an epoch."""
        shared = self.equations.matrix(self.equations.sums(*half.every, other), self.descent.width)
        inverse = inverse_of(shared, half.decay, self.descent.steps)
        for batch in half.batches:
            self.descent.solve(batch, half.data, other, (shared, inverse), RULES.gradient_steps, table)


def inverse_of(shared, decay, steps):
    """Queue and return the inverse of S + decay I, (n, n) float32; shared: S (n, n) float32."""
    source, out = (steps.empty(shared.shape, np.float64) for _ in range(2))
    result = steps.empty(shared.shape, np.float32)
    for step in range(-(-shared.shape[0] // PANEL)):
        steps.invert_panel(shared, np.float64(decay), step, source, out, result)
        source, out = out, source
    return result


class Descent:
    """Conjugate gradients over all rows of a side, for a layout.Layout, up to `rows` rows in up to `pieces` pieces."""

    def __init__(self, steps, layout, rows, pieces):
        self.steps, self.layout, self.width = steps, layout, layout.lanes * layout.factors
        shapes = (rows, self.width), (rows, self.width), rows
        self.state = Directions(*(steps.empty(shape, np.float32) for shape in shapes))
        self.sums = steps.empty((pieces, self.width), np.float32)

    def solve(self, batch, data, other, matrices, count, table):
        """Queue `count` steps for the rows of a batch, with the table `other` fixed.

        batch: see Equations.solve; matrices: S and M of begin_descent; table: parameter rows, whose factors change.
        """
        pieces, owners, decays = batch
        before, after = (owners, decays, self.sums, *matrices), (self.state, table)
        self.multiply(pieces, data, ONE, table, other)
        self.steps.begin_descent(self.layout, *before, *after)
        for step in range(1, count + 1):
            self.multiply(pieces, data, ZERO, self.state.ways, other)
            self.steps.descend(self.layout, *before, step == count, *after)

    def multiply(self, pieces, data, goal, ways, other):
        """Queue products_of_pieces."""
        self.steps.products_of_pieces(self.layout, pieces, data.minor, data.weights, goal, ways, other, self.sums)
