"""Alternating least squares, as in cuALS: all users given the items, then all items given the users; for either device.

Each row is the solution of a small linear system, whose equations are those of squares/.

Papers: Zhou, Wilkinson, Schreiber and Pan, "Large-Scale Parallel Collaborative Filtering for the Netflix Prize", AAIM
2008 (weighted lambda); Tan, Cao and Fong, HPDC 2016 (on a GPU). Cost of an epoch: nnz F^2 / 2 multiplications per side
and (M + N) F^3 / 6. Deterministic: yes, for any number of threads.
"""

from typing import NamedTuple

import numpy as np

from gpukit.device.engine import engine
from gpukit.factorization.constants import DAMPING
from gpukit.factorization.prepare import training_data
from gpukit.factorization.prepare.training_data import lay_out_weights
from gpukit.factorization.solvers.squares import plan
from gpukit.factorization.solvers.squares.plan import Data, Terms


class Half(NamedTuple):
    """Input of one side's solution.

    data: squares.plan.Data; batches: squares.plan.batches_of them; largest: pieces of the largest batch. Of ials:
    every: (pieces, Data) of all rows of the other side; decay: mean lambda of the rows with clicks.
    """

    data: Data
    batches: list
    largest: int
    every: tuple | None = None
    decay: float = 0.0


def arrange(task):
    """Return (the solver, [users' Half, items' Half]) of a solvers.Task."""
    steps = engine(task.device, "gpukit.factorization.solvers")
    n_factors = task.layout.n_factors
    most = plan.pieces_at_once(steps, n_factors, task.device, "solver='sgd'")
    items = training_data.side_of(task.orders, "items", task.scale, task.settings.seed, task.steps)
    if task.data.weights is not None:
        items = items._replace(weights=lay_out_weights(task.data.weights, "items", items.where, task.steps))
    halves = [half_of(number, side, task, steps, most) for number, side in enumerate((task.data.side, items))]
    equations = plan.Equations(steps, n_factors, max(1, *(half.largest for half in halves)))
    return Elimination(equations, Terms(task.settings.biases, equations.nothing(), np.float32(DAMPING))), halves


def half_of(number, side, task, steps, most):
    """Return the Half of an arrays.Side (0: users, 1: items); most: pieces at once.

    lambda of a row is its number of ratings, or their total weight, times the regularization (weighted lambda).
    """
    cut, weights = plan.cut(side.indptr, steps.LONGEST, most, task.share.span(number)), side.weights
    counts = cut.owners[:, 3]
    if weights is None:
        weights = steps.resident(np.ones(1), np.float32)
    else:
        counts = sum_weights(task.steps.fetch(weights), cut.owned(side.indptr), counts)
    decays = np.float32(task.settings.regularization) * counts.astype(np.float32)
    return Half(Data(side.minor, side.values, weights), plan.batches_of(cut, decays, steps), cut.largest)


def sum_weights(weights, first, counts):
    """Return the sums of rows' weights, (m,) float64; the rows begin at `first` (m,) and are contiguous."""
    if not len(first):
        return np.zeros(0)
    return np.add.reduceat(weights[: first[-1] + counts[-1]], first, dtype=np.float64)


class Elimination(NamedTuple):
    """Exact solution by the rows' Gram matrices."""

    equations: object
    terms: Terms

    def solve(self, half, other, table):
        """Queue a side's half of an epoch."""
        terms = self.terms
        if half.every is not None:
            terms = terms._replace(shared=self.equations.sums(*half.every, other))
        for batch in half.batches:
            self.equations.solve(batch, half.data, other, terms, table)


class Alternation:
    """Epochs of alternating least squares over a session's parameters."""

    def __init__(self, session, task, arranged):
        self.session, self.share, (self.solver, self.halves) = session, task.share, arranged

    def epoch(self, number):
        """Solve for all users, then for all items; return when complete."""
        users, items = self.session.parameters.P, self.session.parameters.Q
        for side, (half, other, table) in enumerate(zip(self.halves, (items, users), (users, items))):
            self.solver.solve(half, other, table)
            self.share.exchange(side, table)
        self.session.finish()


begin = Alternation
