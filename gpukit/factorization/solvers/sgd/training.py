"""Training by stochastic gradient descent, written once for either device."""

import numpy as np

from gpukit.factorization.solvers.sgd import schedule
from gpukit.factorization.solvers.sgd.batches import training as batches
from gpukit.factorization.solvers.sgd.chunks.table import chunk_table
from gpukit.factorization.solvers.sgd.rates import row_rates


def arrange(task, workers=None):
    """(chunk tables, workers) of a solvers.Task, or the Batches of one that is to give one result and has no strata;
    workers: how many there shall be, None: schedule.worker_count."""
    if task.deterministic and task.made.side.strata is None:
        return batches.arrange(task)
    if workers is None:
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
    if isinstance(arranged, batches.Batches):
        return batches.Training(session, task, arranged)
    session.train_on(task.made.side, task.made.query, *arranged)
    return Training(session, task.settings)


class Training:
    """Epochs of a session, at the rates of settings.Settings."""

    def __init__(self, session, settings):
        self.session, self.settings = session, settings

    def epoch(self, number):
        """One pass over all ratings; returns when it is done."""
        self.step(self.settings.epoch_rates(number), schedule.turn_key(self.settings.seed, number))

    def step(self, rates, turn):
        """`epoch` at given formulas.Rates; turn: its key."""
        self.session.epoch(rates, turn)
