"""Training by iALS, for either device."""

from typing import NamedTuple

import numpy as np

from gpukit.device.engine import engine
from gpukit.errors import DataError
from gpukit.factorization.prepare import training_data
from gpukit.factorization.solvers.ials import formulas
from gpukit.factorization.solvers.ials.formulas import basis_of, decays_of
from gpukit.factorization.solvers.squares.formulas import ONE
from gpukit.factorization.solvers.squares.plan import Data, Terms, batches_of, cut, within

ENDS = 100, np.float32(1e-6)  # steps and tolerance for matrices too large for elimination


class Half(NamedTuple):
    """Input of one side's solution.

    data: squares.arrays.Data; batches: squares.plan.batches_of them; largest: pieces of the largest batch; every:
    (pieces, Data) of all rows of the other side; decay: mean lambda of the rows with clicks; few: few_batches of the
    rows that batches exclude.
    """

    data: Data
    batches: list
    largest: int
    every: tuple
    decay: float
    few: list


def arrange(task):
    """Return (the row solver, [users' Half, items' Half]) of a solvers.Task."""
    steps, settings = engine(task.device, __package__), task.settings
    check_weights(task.orders.levels, task.scale)
    sides = [
        task.data.side,
        training_data.side_of(task.orders, "items", task.scale, settings.seed, task.steps.preparing),
    ]
    row_solver = (
        formulas.way_of(task.layout.n_factors, steps.ON_GPU) if settings.row_solver == "auto" else settings.row_solver
    )
    most, shape = max_pieces(row_solver, task, steps), task.orders.shape
    clicks = formulas.few_of(task.layout.n_factors, task.settings.regularization) if row_solver == "cholesky" else 0
    few = steps.Few(task.layout, max(shape)) if clicks else None
    halves = [half_of(number, side, task, steps, (most, clicks, few)) for number, side in enumerate(sides)]
    largest = max(half.largest for half in halves)
    return create_solver(row_solver, task.layout, (max(shape), len(task.orders), largest), few, steps), halves


def max_pieces(row_solver, task, steps):
    """Return the number of pieces whose Gram matrices fit in memory; the number of clicks if there are no Gram
    matrices."""
    if row_solver == "gradients":
        return len(task.orders)
    factors = task.layout.n_factors if row_solver == "cholesky" else formulas.block_of(task.layout.n_factors)
    return max(1, steps.squares.SCRATCH // (4 * steps.squares.Equations.numbers(factors)))


def check_weights(levels, scale):
    """Raise DataError unless all clicks have positive weights."""
    lowest = float(levels.values.min()) if len(levels.values) else 1.0
    if (lowest - scale.mean) / scale.deviation <= 0:
        raise DataError(f"A click's value is its weight, which must be above 0: the lowest is {lowest:g}.")


def half_of(number, side, task, steps, limits):
    """Return the Half of an arrays.Side (0: users, 1: items).

    limits: (pieces at once, most clicks of rows of few clicks, steps.Few or None).
    """
    settings, (most, clicks, few), span = task.settings, limits, task.share.span(number)
    pieces, counts = cut(side.indptr, steps.squares.LONGEST, most, clicks, span), np.diff(side.indptr)
    others = task.orders.shape[1 - number]
    scale = others, settings.regularization, settings.unobserved_weight, settings.exponent
    decays, of_all = (decays_of(row_counts, *scale) for row_counts in (pieces.owners[:, 3], counts[counts > clicks]))
    ones, values = np.ones(1), task.orders.levels.values
    alike = len(values) == 1
    weights = steps.resident((values - task.scale.mean) / task.scale.deviation, np.float32) if alike else side.values
    data = Data(side.minor, steps.resident(ones, np.float32), weights)
    batches = batches_of(pieces, decays, steps)
    every = pieces_of_all_rows(others, settings.unobserved_weight, steps)
    mean = float(of_all.mean(dtype=np.float64)) if len(of_all) else 0.0
    light = (
        few_batches(side.indptr, within(np.flatnonzero(counts), span), clicks, scale, few.most, steps) if few else []
    )
    return Half(data, batches, pieces.largest, every, mean, light)


def few_batches(indptr, rows, clicks, scale, most, steps):
    """Return [(lines, owners, decays)] on the device of the rows with up to `clicks` clicks, `most` at once.

    lines (n, 3) int64: row, first click, clicks; owners: see squares.plan.Cut, with rows numbered within the batch.
    """
    counts = np.diff(indptr)
    rows = rows[counts[rows] <= clicks]
    batches = []
    for begin in range(0, len(rows), most):
        batch = rows[begin : begin + most]
        numbers, ones = np.arange(len(batch)), np.ones(len(batch), np.int64)
        lines = np.stack((batch, indptr[batch], counts[batch]), axis=1)
        owners = np.stack((numbers, numbers, ones, counts[batch]), axis=1)
        tables = (steps.resident(table, np.int64) for table in (lines, owners))
        batches.append((*tables, steps.resident(decays_of(counts[batch], *scale), np.float32)))
    return batches


def pieces_of_all_rows(rows, weight, steps):
    """Return (pieces, Data) whose Gram matrix is alpha0 V'V of `rows` rows."""
    longest = -(-rows // steps.MOMENT_PIECES)
    pieces = steps.resident(cut(np.array([0, rows]), longest, 1).pieces, np.int64)
    numbers = (steps.resident(np.array([number]), np.float32) for number in (0, weight))
    return pieces, Data(steps.resident(np.arange(rows), np.int32), *numbers)


def create_solver(row_solver, layout, sizes, few, steps):
    """Return the row solver; sizes: (maximal rows, clicks, pieces at once); few: steps.Few or None."""
    rows, clicks, pieces = sizes
    most = max(pieces, steps.MOMENT_PIECES) if row_solver == "cholesky" else steps.MOMENT_PIECES
    equations = steps.squares.Equations(layout.n_factors, most)
    if row_solver == "cholesky":
        return Cholesky(equations, few, steps)
    if row_solver == "blocks":
        return BlockByBlock(equations, steps.Blocks(layout, rows, clicks, pieces))
    return Gradients(equations, steps.Descent(layout, rows, pieces), steps)


class Cholesky(NamedTuple):
    """Exact solution by the rows' Gram matrices, or by those of the clicks of rows with few."""

    equations: object
    few: object
    steps: object

    def solve(self, half, other, table):
        """Queue a side's half of an epoch."""
        shared = self.equations.sums(*half.every, other)
        terms = Terms(False, shared, ONE, *ENDS)
        matrix = self.steps.fetch(self.equations.matrix(shared, self.few.width)) if half.few else None
        for batch in half.batches:
            self.equations.solve(batch, half.data, other, terms, table)
        if half.few:
            self._solve_few(half, matrix, other, table)

    def _solve_few(self, half, matrix, other, table):
        """Queue the rows of few clicks; the host computes the basis of `matrix` while a GPU is busy."""
        spectrum, basis = basis_of(matrix)
        basis, back = (self.steps.resident(turn, np.float32) for turn in (basis, basis.T))
        terms, turned = (self.steps.resident(spectrum, np.float32), back), self.few.turned(other, basis)
        for batch in half.few:
            self.few.solve(batch, half.data, turned, terms, table)


class Gradients(NamedTuple):
    """A few steps of conjugate gradients from the current rows."""

    equations: object
    descent: object
    steps: object

    def solve(self, half, other, table):
        """Queue a side's half of an epoch."""
        shared = self.equations.matrix(self.equations.sums(*half.every, other), self.descent.width)
        inverse = self.steps.inverse_of(shared, half.decay)
        for batch in half.batches:
            self.descent.solve(batch, half.data, other, (shared, inverse), formulas.STEPS, table)


class BlockByBlock(NamedTuple):
    """Exact solution for one block of factors after the other, with the others fixed."""

    equations: object
    blocks: object

    def solve(self, half, other, table):
        """Queue a side's half of an epoch."""
        blocks, minor = self.blocks, half.data.minor
        shared = self.equations.matrix(self.equations.sums(*half.every, other), blocks.width)
        data = half.data._replace(values=blocks.errors)
        blocks.begin(half.batches, minor, other, table)
        for first in range(0, blocks.width, blocks.size):
            columns = blocks.take(first, other)
            terms = Terms(False, blocks.equations.sums(*half.every, columns), ONE, *ENDS)
            for batch in half.batches:
                blocks.equations.form(batch, data, columns, terms)
                blocks.aim(batch, shared, first, table)
                blocks.equations.answer(batch, terms, blocks.result)
                blocks.add(batch, minor, first, columns, table)


def begin(session, task, arranged):
    """Return the Training of a session."""
    return Training(session, task.share, *arranged)


class Training:
    """Epochs of iALS over a session's parameters."""

    def __init__(self, session, share, solver, halves):
        self.session, self.share, self.way, self.halves = session, share, solver, halves

    def epoch(self, number):
        """Solve for all users, then for all items; return when complete."""
        users, items = self.session.parameters.P, self.session.parameters.Q
        for side, (half, other, table) in enumerate(zip(self.halves, (items, users), (users, items))):
            self.way.solve(half, other, table)
            self.share.exchange(side, table)
        self.session.finish()
