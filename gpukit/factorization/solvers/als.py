"""Alternating least squares: all users given the items, then all items given the users; for either device.

`als` learns ratings as in cuALS, `ials` clicks over all pairs. Each row is the solution of a small linear system, whose
equations are those of squares.py and, for clicks, of ials.py. `ials` also has conjugate gradients.

Papers: Zhou, Wilkinson, Schreiber and Pan, "Large-Scale Parallel Collaborative Filtering for the Netflix Prize", AAIM
2008 (weighted lambda); Tan, Cao and Fong, HPDC 2016 (on a GPU); for clicks see ials.py. Cost of an epoch of `als`: nnz
F^2 / 2 multiplications per side and (M + N) F^3 / 6. Deterministic: yes, for any number of threads.
"""

from typing import NamedTuple

import numpy as np

from gpukit.device.engine import engine
from gpukit.errors import DataError
from gpukit.factorization.constants import DAMPING, RULES
from gpukit.factorization.prepare import training_data
from gpukit.factorization.prepare.training_data import lay_out_weights
from gpukit.factorization.solvers import ials, squares
from gpukit.factorization.solvers.ials import PANEL, Directions, decays_of
from gpukit.factorization.solvers.squares import Data, Equations
from gpukit.factorization.solvers.squares_formulas import ONE, ZERO


class Half(NamedTuple):
    """Input of one side's solution.

    data: squares.Data; batches: squares.batches_of them; largest: pieces of the largest batch. Of ials:
    every: (pieces, Data) of all rows of the other side; decay: mean lambda of the rows with clicks.
    """

    data: Data
    batches: list
    largest: int
    every: tuple | None = None
    decay: float = 0.0


def arrange(task):
    """Return (the row solver, [users' Half, items' Half]) of a solvers.Task."""
    steps, settings = engine(task.device, __package__), task.settings
    of_clicks = settings.solver == "ials"
    if of_clicks:
        check_weights(task.orders.levels, task.scale)
    row_solver, most = row_solver_of(task, steps)
    items = training_data.side_of(task.orders, "items", task.scale, settings.seed, task.steps)
    if task.data.weights is not None:
        items = items._replace(weights=lay_out_weights(task.data.weights, "items", items.where, task.steps))
    half_of = half_of_clicks if of_clicks else half_of_ratings
    halves = [half_of(number, side, task, steps, most) for number, side in enumerate((task.data.side, items))]
    return create_solver(row_solver, task, max(1, *(half.largest for half in halves)), steps), halves


def row_solver_of(task, steps):
    """Return ('cholesky' or 'gradients', pieces at once); conjugate gradients need no Gram matrices."""
    settings, n_factors, row_solver, remedy = task.settings, task.layout.n_factors, "cholesky", "solver='sgd'"
    if settings.solver == "ials":
        row_solver, remedy = settings.row_solver, "row_solver='gradients'"
        row_solver = ials.faster_row_solver(n_factors) if row_solver == "auto" else row_solver
    if row_solver == "gradients":
        return row_solver, len(task.orders)
    return row_solver, squares.pieces_at_once(steps, n_factors, task.device, remedy)


def check_weights(levels, scale):
    """Raise DataError unless all clicks have positive weights."""
    lowest = float(levels.values.min()) if len(levels.values) else 1.0
    if (lowest - scale.mean) / scale.deviation <= 0:
        raise DataError(f"A click's value is its weight, which must be above 0: the lowest is {lowest:g}.")


def half_of_ratings(number, side, task, steps, most):
    """Return the Half of an arrays.Side (0: users, 1: items); most: pieces at once.

    lambda of a row is its number of ratings, or their total weight, times the regularization (weighted lambda).
    """
    span = task.share and task.share.span(number)
    cut, weights = squares.cut(side.indptr, steps.LONGEST, most, span), side.weights
    counts = cut.owners[:, 3]
    if weights is None:
        weights = steps.resident(np.ones(1), np.float32)
    else:
        counts = sum_weights(task.steps.fetch(weights), cut.owned(side.indptr), counts)
    decays = np.float32(task.settings.regularization) * counts.astype(np.float32)
    return Half(Data(side.minor, side.values, weights), squares.batches_of(cut, decays, steps), cut.largest)


def sum_weights(weights, first, counts):
    """Return the sums of rows' weights, (m,) float64; the rows begin at `first` (m,) and are contiguous."""
    if not len(first):
        return np.zeros(0)
    return np.add.reduceat(weights[: first[-1] + counts[-1]], first, dtype=np.float64)


def half_of_clicks(number, side, task, steps, most):
    """Return the Half of an arrays.Side (0: users, 1: items); most: pieces at once."""
    settings, span = task.settings, task.share and task.share.span(number)
    pieces, counts = squares.cut(side.indptr, steps.LONGEST, most, span), np.diff(side.indptr)
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
    return Half(data, squares.batches_of(pieces, decays, steps), pieces.largest, all_pieces, mean)


def pieces_of_all_rows(rows, weight, steps):
    """Return (pieces, Data) whose Gram matrix is alpha0 V'V of `rows` rows."""
    longest = -(-rows // steps.MOMENT_PIECES)
    pieces = steps.resident(squares.cut(np.array([0, rows]), longest, 1).pieces, np.int64)
    numbers = (steps.resident(np.array([number]), np.float32) for number in (0, weight))
    return pieces, Data(steps.resident(np.arange(rows), np.int32), *numbers)


def create_solver(row_solver, task, pieces, steps):
    """Return the Equations or the Descent for the rows of a solvers.Task, up to `pieces` pieces at once."""
    n_factors = task.layout.n_factors
    if task.settings.solver == "als":
        return Equations(steps, n_factors, pieces, task.settings.biases, np.float32(DAMPING))
    if row_solver == "cholesky":
        return Equations(steps, n_factors, max(pieces, steps.MOMENT_PIECES))
    return Descent(steps, task.layout, max(task.orders.shape), pieces)


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
        self.equations = Equations(steps, layout.n_factors, steps.MOMENT_PIECES)
        shapes = (rows, self.width), (rows, self.width), rows
        self.state = Directions(*(steps.empty(shape, np.float32) for shape in shapes))
        self.products = steps.empty((pieces, self.width), np.float32)

    def solve(self, half, other, table):
        """Queue a few steps from the current rows of a Half of `table`, with the table `other` fixed."""
        shared = self.equations.matrix(self.equations.sums(*half.every, other), self.width)
        inverse = inverse_of(shared, half.decay, self.steps)
        for batch in half.batches:
            self.solve_batch(batch, half.data, other, (shared, inverse), table)

    def solve_batch(self, batch, data, other, matrices, table):
        """Queue the steps for the rows of a batch.

        batch: see Equations.solve_batch; matrices: S and M of begin_descent; table: parameter rows, whose factors
        change.
        """
        pieces, owners, decays = batch
        before, after = (owners, decays, self.products, *matrices), (self.state, table)
        self.multiply(pieces, data, ONE, table, other)
        self.steps.begin_descent(self.layout, *before, *after)
        for step in range(1, RULES.gradient_steps + 1):
            self.multiply(pieces, data, ZERO, self.state.ways, other)
            self.steps.descend(self.layout, *before, step == RULES.gradient_steps, *after)

    def multiply(self, pieces, data, goal, ways, other):
        """Queue products_of_pieces."""
        self.steps.products_of_pieces(self.layout, pieces, data.minor, data.weights, goal, ways, other, self.products)


class Alternation:
    """Epochs of alternating least squares over a session's parameters."""

    def __init__(self, session, task, arranged):
        self.session, self.share, (self.solver, self.halves) = session, task.share, arranged

    def epoch(self, number):
        """Solve for all users, then for all items; return when complete."""
        users, items = self.session.parameters.P, self.session.parameters.Q
        for side, (half, other, table) in enumerate(zip(self.halves, (items, users), (users, items))):
            self.solver.solve(half, other, table)
            if self.share is not None:
                self.share.exchange(side, table)
        self.session.finish()


begin = Alternation
