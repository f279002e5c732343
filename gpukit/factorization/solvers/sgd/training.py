"""Training by stochastic gradient descent, written once for either device."""

import numpy as np

from gpukit.factorization.solvers.sgd import schedule
from gpukit.factorization.solvers.sgd.chunks.table import chunk_table
from gpukit.factorization.solvers.sgd.rates import row_rates


def arrange(task):
    """(chunk tables, workers) of a solvers.Task."""
    most = task.steps.most_workers(task.layout)
    workers = schedule.worker_count(len(task.orders), most, task.layout.slots > 0)
    return chunk_tables(task.made.side, workers, task.settings, task.steps)


def chunk_tables(side, workers, plan, steps):
    """(tables, workers) of an epoch: one table, or the strata of a conflict-free schedule."""
    if side.strata is not None:
        return side.strata, len(side.strata)
    rate = row_rates(plan.rates, plan.learning_rate, np.diff(side.indptr))
    return [chunk_table(side.indptr, side.starts, workers, rate, plan.seed, steps.chunking)], workers


def begin(session, task, arranged):
    """The Training of a session."""
    session.train_on(task.made.side, task.made.query, *arranged)
    return Training(session, task.settings)


class Training:
    """Epochs of a session, at the rates of settings.Settings."""

    def __init__(self, session, settings):
        self.session, self.settings = session, settings

    def epoch(self, number):
        """One pass over all ratings; returns when it is done."""
        self.session.epoch(self.settings.epoch_rates(number), schedule.turn_key(self.settings.seed, number))
