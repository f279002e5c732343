"""Training by alternating least squares, for either device."""

from typing import NamedTuple

import numpy as np

from gpukit.device.engine import engine
from gpukit.factorization.baseline import DAMPING
from gpukit.factorization.prepare import training_data
from gpukit.factorization.prepare.training_data import lay_out_weights
from gpukit.factorization.solvers import squares
from gpukit.factorization.solvers.squares import plan
from gpukit.factorization.solvers.squares.plan import Data, Terms


class Half(NamedTuple):
    """Input of one side's solution: squares.plan.Data, batches [(pieces, owners, decays)] on the device."""

    data: object
    batches: list


def arrange(task):
    """Return (Equations, [users' Half, items' Half]) of a solvers.Task."""
    steps, n_factors = engine(task.device, squares.__name__), task.layout.n_factors
    plan.check_size(n_factors, task.device, "solver='sgd'")
    weights, preparing = task.data.weights, task.steps.preparing
    items = training_data.side_of(task.orders, "items", task.scale, task.settings.seed, preparing)
    if weights is not None:
        items = items._replace(weights=lay_out_weights(weights, "items", items.where, preparing))
    sides = [task.data.side, items]
    most = max(1, steps.SCRATCH // (4 * steps.Equations.numbers(n_factors)))
    cuts = [
        plan.cut(side.indptr, steps.LONGEST, most, span=task.share.span(number)) for number, side in enumerate(sides)
    ]
    halves = [half_of(side, cut, task, steps) for side, cut in zip(sides, cuts)]
    return steps.Equations(n_factors, max(1, *(cut.largest for cut in cuts))), halves


def half_of(side, cut, task, steps):
    """Return the Half of an arrays.Side.

    lambda of a row is its number of ratings, or their total weight, times the regularization (weighted lambda).
    """
    counts, weights = cut.owners[:, 3], side.weights
    if weights is None:
        weights = steps.resident(np.ones(1), np.float32)
    else:
        counts = sum_weights(task.steps.preparing.fetch(weights), cut.owned(side.indptr), counts)
    decays = np.float32(task.settings.regularization) * counts.astype(np.float32)
    return Half(Data(side.minor, side.values, weights), plan.batches_of(cut, decays, steps))


def sum_weights(weights, first, counts):
    """Return the sums of rows' weights, (m,) float64; the rows begin at `first` (m,) and are contiguous."""
    if not len(first):
        return np.zeros(0)
    return np.add.reduceat(weights[: first[-1] + counts[-1]], first, dtype=np.float64)


def begin(session, task, arranged):
    """Return the Training of a session."""
    return Training(session, task, *arranged)


class Training:
    """Epochs of alternating least squares over a session's parameters."""

    def __init__(self, session, task, equations, halves):
        self.session, self.share, self.equations, self.halves = session, task.share, equations, halves
        self.terms = Terms(task.settings.biases, equations.nothing(), np.float32(DAMPING))

    def epoch(self, number):
        """Solve for all users, then for all items; return when complete."""
        users, items = self.session.parameters.P, self.session.parameters.Q
        for side, (half, other, table) in enumerate(zip(self.halves, (items, users), (users, items))):
            for batch in half.batches:
                self.equations.solve(batch, half.data, other, self.terms, table)
            self.share.exchange(side, table)
        self.session.finish()
