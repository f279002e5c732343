"""Training by stochastic gradient descent, written once for either device."""

import numpy as np

from gpukit.factorization.solvers.sgd import schedule
from gpukit.factorization.solvers.sgd.batches import training as batches
from gpukit.factorization.solvers.sgd.chunks.table import chunk_table
from gpukit.factorization.solvers.sgd.rates import row_rates


def arrange(task):
    """(chunk tables, workers) of a solvers.Task, or the Batches of one that is to give one result and has no strata."""
    if task.deterministic and task.data.side.strata is None:
        return batches.arrange(task)
    return chunk_tables(task.data.side, usual_pace(task), task.settings.seed, task.steps)


def usual_pace(task):
    """The schedule.Pace of a solvers.Task."""
    settings, counts = task.settings, np.diff(task.data.side.indptr)
    return schedule.Pace(usual_workers(task), row_rates(settings.rates, settings.learning_rate, counts))


def usual_workers(task):
    """Workers for the ratings of a solvers.Task."""
    return schedule.worker_count(len(task.orders), task.steps.most_workers(task.layout), task.layout.slots > 0)


def chunk_tables(side, pace, seed, steps):
    """(tables, workers) of an epoch: one table, or the strata of a conflict-free schedule."""
    if side.strata is not None:
        return side.strata, len(side.strata)
    table = chunk_table(side.indptr, side.starts, pace, seed, steps.chunking)
    return [table], pace.workers


def begin(session, task, arranged):
    """The Training of a session."""
    if isinstance(arranged, batches.Batches):
        return batches.Training(session, task, arranged)
    session.train_on(task.data.side, task.data.query, *arranged)
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

    def start(self, rates, turn):
        """`step`, on a GPU queued and not waited for."""
        self.session.start_epoch(rates, turn)
