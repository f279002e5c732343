"""Workers, chunks and keys of an epoch, computed in advance."""

import numpy as np

from gpukit.factorization.solvers.sampled.formulas import examples_of
from gpukit.factorization.solvers.sampled.rates import user_rates
from gpukit.factorization.solvers.sgd import schedule
from gpukit.factorization.solvers.sgd.chunks.table import chunk_table
from gpukit.random import key
from gpukit.streams import Keyed

PAIRWISE = "bpr"
WORKERS_AN_ITEM = 8
MOST_BITS = 1 << 34  # of the workspace: a bit per item and worker


def worker_count(n_clicks, n_items, settings, most):
    """Return the number of workers of an epoch for settings.Settings, at most `most`.

    It is bounded by the number of examples, by WORKERS_AN_ITEM, so that workers seldom share an item, and by memory.
    """
    examples = n_clicks * examples_of(settings.n_negatives, settings.loss == PAIRWISE)
    return schedule.worker_count(examples, max(1, min(most, WORKERS_AN_ITEM * n_items, MOST_BITS // n_items)))


def chunks_of(side, workers, settings, steps):
    """Return the chunk table of an arrays.Side by user."""
    rate = user_rates(settings.learning_rate, np.diff(side.indptr))
    return chunk_table(side.indptr, side.starts, schedule.Pace(workers, rate), settings.seed, steps)


def draw_key(seed, epoch):
    """Return the key of an epoch's negatives."""
    return np.uint32(key(seed, Keyed.NEGATIVES[epoch % len(Keyed.NEGATIVES)]))
