"""SGD on clicks with sampled negatives: CULSH-MF and CUSGD++ with the cross-entropy loss, and BPR.

sampled_formulas.py has the losses. Papers: Li et al. 2022, section 5.4; Rendle, Freudenthaler, Gantner and
Schmidt-Thieme, "BPR: Bayesian Personalized Ranking from Implicit Feedback", UAI 2009. Cost of an epoch: 1 + n examples
of 4 F multiplications per click, 6 K more with neighbourhoods. Deterministic: with one worker; the negatives are always
a function of the seed.
"""

import numpy as np

from gpukit.device.engine import engine
from gpukit.factorization.model.layout import major_first
from gpukit.factorization.prepare import training_data
from gpukit.factorization.solvers.rates import user_rates
from gpukit.factorization.solvers.sampled_formulas import Clicks, Draw, examples_of
from gpukit.factorization.solvers.sgd import schedule
from gpukit.factorization.solvers.sgd.schedule import chunk_table, turn_key
from gpukit.random import key
from gpukit.streams import Keyed

PAIRWISE = "bpr"


def arrange(task):
    """Return (the device's steps, Clicks, chunks, workers, workspace) of a solvers.Task."""
    steps, settings, n_items = engine(task.device, "gpukit.factorization.solvers"), task.settings, task.orders.shape[1]
    side = training_data.side_of(task.orders, "users", task.scale, settings.seed, task.steps)
    most = 1 if task.deterministic else steps.sampled_workers(task.layout)
    workers = worker_count(len(task.orders), n_items, settings, most)
    chunks = chunks_of(side, workers, settings, task.steps)
    return steps, Clicks(side.starts, side.minor), chunks, workers, steps.sampled_workspace(workers, n_items)


class SampledEpochs:
    """Epochs over a session's parameters."""

    def __init__(self, session, task, arranged):
        self.session, self.settings, self.layout = session, task.settings, task.layout
        self.steps, self.clicks, self.chunks, self.workers, self.workspace = arranged

    def epoch(self, number):
        """Make one pass over all clicks; return when complete."""
        settings, session, parameters = self.settings, self.session, self.session.parameters
        users, items = major_first(session.walk, parameters.P, parameters.Q)
        draw = Draw(draw_key(settings.seed, number), settings.n_negatives, settings.loss == PAIRWISE)
        tables = session.near, parameters._replace(P=users, Q=items)
        steps = settings.epoch_rates(number), turn_key(settings.seed, number), draw
        self.steps.run_sampled(self.layout, self.workspace, self.chunks, self.clicks, *tables, *steps, self.workers)
        session.finish()


begin = SampledEpochs


def worker_count(n_clicks, n_items, settings, most):
    """Return the number of workers of an epoch for settings.Settings, at most `most`.

    It is bounded by the numbers of examples and of items, so that workers seldom share an item, and by memory.
    """
    workers_an_item = 8
    most_bits = 1 << 34  # of the workspace: a bit per item and worker
    examples = n_clicks * examples_of(settings.n_negatives, settings.loss == PAIRWISE)
    return schedule.worker_count(examples, max(1, min(most, workers_an_item * n_items, most_bits // n_items)))


def chunks_of(side, workers, settings, steps):
    """Return the chunk table of an arrays.Side by user."""
    rate = user_rates(settings.learning_rate, np.diff(side.indptr))
    return chunk_table(side.indptr, side.starts, schedule.Pace(workers, rate), settings.seed, steps)


def draw_key(seed, epoch):
    """Return the key of an epoch's negatives."""
    return np.uint32(key(seed, Keyed.NEGATIVES[epoch % len(Keyed.NEGATIVES)]))
