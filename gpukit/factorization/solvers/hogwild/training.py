"""Training by batch-Hogwild, written once for either device."""

import numpy as np

from gpukit.device.engine import engine
from gpukit.factorization.solvers.hogwild.arrays import HogwildTables, Samples
from gpukit.factorization.solvers.hogwild.rates import BETA
from gpukit.factorization.solvers.sgd.formulas import falling_rate
from gpukit.random import key
from gpukit.streams import Keyed

BATCH = 256  # ratings that a worker takes at once (Xie et al. 2017)
ROWS_A_WORKER = 8  # of the shorter side: with fewer, workers meet on rows too often


def arrange(task):
    """(Samples in random order, workers, the device's steps) of a solvers.Task."""
    steps, side, n = engine(task.device, __package__), task.made.side, len(task.orders)
    samples = Samples(*(steps.empty(n, dtype) for dtype in (np.int32, np.int32, np.float32)))
    seed_key = np.uint32(key(task.settings.seed, Keyed.SAMPLES[0]))
    steps.run("scatter_ratings", side.starts, side.minor, side.values, seed_key, samples)
    workers = min(steps.most_workers(), -(-n // BATCH), max(1, min(task.orders.shape) // ROWS_A_WORKER))
    return samples, 1 if task.deterministic else workers, steps


def begin(session, task, arranged):
    """The Training of a session."""
    return Training(session, task, *arranged)


class Training:
    """Epochs of batch-Hogwild over a session's parameters, or over halves of them."""

    def __init__(self, session, task, samples, workers, steps):
        self.session, self.settings, self.steps = session, task.settings, steps
        self.samples, self.workers, self.n_factors = samples, workers, task.layout.n_factors
        self.halves = ()
        if task.half:
            shapes = [(table.shape[0], steps.stored_width(self.n_factors)) for table in session.parameters[:2]]
            self.halves = tuple(steps.empty(shape, np.float16) for shape in shapes)

    def epoch(self, number):
        """One pass over all ratings; returns when it is done."""
        settings, sides = self.settings, self.session.parameters[:2]
        rate = np.float32(falling_rate(settings.learning_rate, BETA, number))
        rates = rate, rate if settings.biases else np.float32(0.0), np.float32(settings.regularization)
        for stored, table in zip(self.halves, sides):
            self.steps.run("copy_factors", table, stored.shape[1], stored)
        tables = HogwildTables(*(self.halves or sides), *sides)
        self.steps.walk(self.n_factors, self.samples, tables, *rates, BATCH, self.workers)
        for stored, table in zip(self.halves, sides):
            self.steps.run("copy_factors", stored, self.n_factors, table)
        self.session.finish()
