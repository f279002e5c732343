"""Batch-Hogwild, as in cuSGD: workers process batches of ratings in random order and update both rows without locks.

hogwild_kernels.py and hogwild_twins.py have an epoch; the others are for either device.

Paper: Xie, Tan, Fong and Liang, "CuMF_SGD: Parallelized Stochastic Gradient Descent for Matrix Factorization on GPUs",
HPDC 2017. The steps are those of sgd/formulas.py, Eq. (5), at the rate of Eq. (7) for all rows. Deterministic: with one
worker.
"""

from typing import NamedTuple

import numpy as np

from gpukit.device.engine import engine
from gpukit.factorization.constants import RULES
from gpukit.factorization.solvers.sgd.schedule import Epochs
from gpukit.random import key
from gpukit.streams import Keyed


class Samples(NamedTuple):
    """Ratings in random order: major, minor (n,) int32 rows, values (n,) float32 z."""

    major: np.ndarray
    minor: np.ndarray
    values: np.ndarray


def arrange(task):
    """Return (Samples in random order, workers, the device's steps) of a solvers.Task."""
    steps, side, n = engine(task.device, "gpukit.factorization.solvers"), task.data.side, len(task.orders)
    samples = Samples(*(steps.empty(n, dtype) for dtype in (np.int32, np.int32, np.float32)))
    seed_key = np.uint32(key(task.settings.seed, Keyed.SAMPLES[0]))
    steps.run("scatter_ratings", side.starts, side.minor, side.values, seed_key, samples)
    workers = min(steps.hogwild_workers(task.layout), -(-n // RULES.hogwild_batch), most_useful(task.orders))
    return samples, 1 if task.deterministic else workers, steps


def most_useful(orders):
    """Return the number of workers, at least 1, at which a worker shares its rows with hogwild_meetings others.

    Two random ratings share a user or an item with the probability sum p_i^2 + sum q_j^2; p_i and q_j are the shares of
    the ratings of user i and of item j.
    """
    chance = 0.0
    for side in (orders.by_user, orders.by_item):
        share = np.diff(side.indptr) / side.indptr[-1]
        chance += float(share @ share)
    return max(1, int(RULES.hogwild_meetings / chance))


class HogwildEpochs(Epochs):
    """Epochs of batch-Hogwild over a session's parameters."""

    def __init__(self, session, task, arranged):
        super().__init__(session, task.settings)
        self.layout, (self.samples, self.workers, self.steps) = task.layout, arranged

    def start(self, rates, turn):
        """Run `step`; on a GPU it is queued."""
        sides = self.session.parameters[:2]
        self.steps.run_hogwild(self.layout, self.samples, *sides, rates, RULES.hogwild_batch, turn, self.workers)


begin = HogwildEpochs
