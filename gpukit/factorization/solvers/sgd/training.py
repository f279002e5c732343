"""Training by stochastic gradient descent, for either device."""

import numpy as np

from gpukit.factorization.solvers.rates import row_rates
from gpukit.factorization.solvers.sgd import schedule
from gpukit.factorization.solvers.sgd.schedule import chunk_table


def arrange(task):
    """Return (chunk tables, workers) of a solvers.Task.

    (Pace, levels, whether they are exact) if its ratings are streamed.
    """
    settings, counts = task.settings, np.diff(task.data.side.indptr)
    pace = schedule.Pace(default_workers(task), row_rates(settings.rates, settings.learning_rate, counts))
    if task.streamed:
        return pace, len(task.orders.levels.values), task.orders.levels.exact
    return chunk_tables(task.data.side, pace, settings.seed, task.steps)


def default_workers(task):
    """Return the number of workers for the ratings of a solvers.Task."""
    return schedule.worker_count(len(task.orders), task.steps.most_workers(task.layout), task.layout.slots > 0)


def chunk_tables(side, pace, seed, steps):
    """Return (tables, workers) of an epoch: one table, or the strata of a conflict-free schedule."""
    if side.strata is not None:
        return side.strata, len(side.strata)
    table = chunk_table(side.indptr, side.starts, pace, seed, steps)
    return [table], pace.workers


def begin(session, task, arranged):
    """Return the Training of a session."""
    if task.streamed:
        from gpukit.factorization.solvers.sgd.stream_training import StreamTraining

        return StreamTraining(session, task, arranged)
    session.train_on(task.data.side, task.data.query, *arranged)
    return Training(session, task.settings)


class Training(schedule.Epochs):
    """Epochs of a session on the chunk tables that it holds."""

    def start(self, rates, turn):
        """Run `step`; on a GPU it is queued."""
        self.session.start_epoch(rates, turn)
