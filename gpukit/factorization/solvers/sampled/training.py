"""Training on clicks with sampled negatives, for either device."""

from gpukit.device.engine import engine
from gpukit.factorization.model.layout import major_first
from gpukit.factorization.prepare import training_data
from gpukit.factorization.solvers.sampled import plan
from gpukit.factorization.solvers.sampled.arrays import Clicks, Draw
from gpukit.factorization.solvers.sampled.rates import epoch_rates
from gpukit.factorization.solvers.sgd.schedule import turn_key


def arrange(task):
    """Return (the device's steps, Clicks, chunks, workers, workspace) of a solvers.Task."""
    steps, settings, n_items = engine(task.device, __package__), task.settings, task.orders.shape[1]
    side = training_data.side_of(task.orders, "users", task.scale, settings.seed, task.steps.preparing)
    most = 1 if task.deterministic else steps.most_workers(task.layout)
    workers = plan.worker_count(len(task.orders), n_items, settings, most)
    chunks = plan.chunks_of(side, workers, settings, task.steps.chunking)
    return steps, Clicks(side.starts, side.minor), chunks, workers, steps.workspace(workers, n_items)


def begin(session, task, arranged):
    """Return the Training of a session."""
    return Training(session, task, *arranged)


class Training:
    """Epochs over a session's parameters."""

    def __init__(self, session, task, steps, clicks, chunks, workers, workspace):
        self.session, self.settings, self.layout, self.steps = session, task.settings, task.layout, steps
        self.clicks, self.chunks, self.workers, self.workspace = clicks, chunks, workers, workspace

    def epoch(self, number):
        """Make one pass over all clicks; return when complete."""
        settings, session, parameters = self.settings, self.session, self.session.parameters
        users, items = major_first(session.walk, parameters.P, parameters.Q)
        draw = Draw(plan.draw_key(settings.seed, number), settings.n_negatives, settings.loss == plan.PAIRWISE)
        tables = session.near, parameters._replace(P=users, Q=items)
        steps = epoch_rates(settings, number), turn_key(settings.seed, number), draw
        self.steps.walk(self.layout, self.workspace, self.chunks, self.clicks, *tables, *steps, self.workers)
        session.finish()
