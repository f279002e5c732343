"""Training by alternating least squares, written once for either device."""

from typing import NamedTuple

import numpy as np

from gpukit.device.engine import engine
from gpukit.factorization.prepare import ready
from gpukit.factorization.prepare.weights import laid_out
from gpukit.factorization.solvers.als import plan
from gpukit.factorization.solvers.als.rates import DAMPING

STEPS, TOLERANCE = 100, 1e-6  # of conjugate gradients, where they are used
UNIT = 1 << 20  # of a sum of weights, as whole numbers


class Weights(NamedTuple):
    """lambda and the biases' damping (float32); conjugate gradients' steps at most, and what they may leave."""

    decay: np.float32
    damping: np.float32
    steps: int
    tolerance: np.float32


class Half(NamedTuple):
    """What one side's rows are solved from: arrays.Side, batches [(pieces, owners)] on the device."""

    side: object
    batches: list


def arrange(task):
    """(Equations, [users' Half, items' Half]) of a solvers.Task."""
    steps = engine(task.device, __package__)
    items = ready.side_of(task.orders, "items", task.scale, task.settings.seed, task.steps.preparing)
    weights, preparing = task.made.weights, task.steps.preparing
    if weights is not None:
        items = items._replace(weights=laid_out(weights, "items", items.where, preparing))
    sides = [task.made.side, items]
    n_factors = task.layout.n_factors
    most = max(1, steps.SCRATCH // (4 * steps.Equations.numbers(n_factors)))
    cuts = [plan.cut(side.indptr, steps.LONGEST, most) for side in sides]
    if weights is not None:
        cuts, sides = zip(*(weighted(cut, side, preparing) for cut, side in zip(cuts, sides)))
    halves = [Half(side._replace(where=None), batches_of(cut, steps)) for side, cut in zip(sides, cuts)]
    return steps.Equations(n_factors, max(cut.largest for cut in cuts)), halves


def weighted(cut, side, steps):
    """(plan.Cut whose owners count weights, in UNITs, in place of ratings; Side whose values have the roots of weights
    beside them)."""
    weights = steps.fetch(side.weights)
    sums = np.add.reduceat(weights, cut.owned(side.indptr), dtype=np.float64)
    owners = np.column_stack((cut.owners[:, :3], np.rint(UNIT * sums).astype(np.int64)))
    values = np.column_stack((steps.fetch(side.values), np.sqrt(weights)))
    return cut._replace(owners=owners), side._replace(values=steps.resident(values, np.float32))


def batches_of(cut, steps):
    """[(pieces, owners)] of a plan.Cut, on the device."""
    batches = []
    for (piece, owner), (last_piece, last_owner) in zip(cut.ends, cut.ends[1:]):
        parts = cut.pieces[piece:last_piece], cut.owners[owner:last_owner]
        batches.append(tuple(steps.resident(part, np.int64) for part in parts))
    return batches


def begin(session, task, arranged):
    """The Training of a session."""
    return Training(session, task.settings, *arranged)


class Training:
    """Epochs of alternating least squares over a session's parameters."""

    def __init__(self, session, settings, equations, halves):
        self.session, self.equations, self.halves, self.biased = session, equations, halves, settings.biases
        unit = 1.0 if halves[0].side.weights is None else UNIT
        decay, damping = np.float32(settings.regularization / unit), np.float32(DAMPING)
        self.weights = Weights(decay, damping, STEPS, np.float32(TOLERANCE))

    def epoch(self, number):
        """Solve for all users, then for all items; returns when it is done."""
        users, items = self.session.parameters.P, self.session.parameters.Q
        for half, other, own in zip(self.halves, (items, users), (users, items)):
            for batch in half.batches:
                self.equations.solve(batch, half.side, other, self.biased, self.weights, own)
        self.session.finish()
