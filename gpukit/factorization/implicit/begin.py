"""Everything that training on clicks needs, before the first epoch."""

import numpy as np

from gpukit.device.engine import engine
from gpukit.factorization import run as runs
from gpukit.factorization.implicit import start
from gpukit.factorization.implicit.choosing import choose
from gpukit.factorization.model import saving
from gpukit.factorization.model.layout import major_first
from gpukit.factorization.prepare import ready
from gpukit.factorization.solvers import Task, training_of
from gpukit.ratings.orders.order import order_ratings


def prepare(estimator, clicks, held_out, device, checked, progress, resume_from):
    """run.Run of an estimator that learns clicks, Ratings whose values are 1; held_out: others to judge by, or None;
    checked: settings.Settings.

    Raises DataError, DeviceMemoryError, ModelError (a checkpoint that does not fit).
    """
    clock, steps = runs.Clock(), engine(device, "gpukit.factorization")
    resumed = None
    if resume_from is not None:
        resumed = saving.load_checkpoint(resume_from, estimator, saving.fingerprint(clicks), clicks.shape, checked)
    with clock("choosing"):
        choice = resumed.choice if resumed else choose(estimator, clicks, checked, device, progress)
    plan = choice.settings
    progress("preparing", 0, 1, {})
    with clock("prepare"):
        course = Course(estimator, clicks, plan, device, steps)
    with clock("neighbours"):
        neighbors = resumed.state.neighbors if resumed else course.neighbors(progress)
    with clock("prepare"):
        session, training = course.begin(resumed.state if resumed else course.first(neighbors))
    first = (resumed.epochs_done, resumed.history, resumed.best) if resumed else (0, [], None)
    return runs.Run(
        session, training, plan, clock, start.SCALE, *first, clicks, held_out, device, choice, course.complete
    )


class Course:
    """The way of a training through clicks: what it reads, on the device, for settings.Settings."""

    def __init__(self, estimator, clicks, plan, device, steps):
        self.estimator, self.plan, self.device, self.steps = estimator, plan, device, steps
        self.walk = "users" if plan.solver == "ials" else estimator.walk
        k = 0 if plan.solver == "ials" else plan.n_neighbors
        self.layout = steps.layout(plan.n_factors, k)
        runs.check_memory(device, len(clicks), major_first(self.walk, *clicks.shape), self.layout)
        self.orders = order_ratings(clicks, device)
        self.made = ready_of(self.orders, self.walk, plan.seed, k > 0, steps.preparing)

    @property
    def counts(self):
        """(clicks of each user (M,), of each item (N,))."""
        sides = self.orders.by_user, self.orders.by_item
        return tuple(np.diff(order.indptr[: rows + 1]) for order, rows in zip(sides, self.orders.shape))

    def neighbors(self, progress):
        """(N, K) int32 on the host: of a training that looks at neighbours as many as these."""
        if not self.layout.n_neighbors:
            return np.zeros((self.orders.shape[1], 0), np.int32)
        found = self.estimator.searched(self.orders, self.steps, self.layout.n_neighbors, progress)()
        return found if isinstance(found, np.ndarray) else found.copy_to_host()

    def first(self, neighbors):
        """The State that training begins with."""
        return start.start_state(self.counts, self.plan.n_factors, neighbors, self.plan.seed)

    def begin(self, state):
        """(session, its solver's Training) that go on from a State."""
        solver, where = training_of(self.plan.solver), (self.layout, self.steps, self.device)
        task = Task(self.orders, start.SCALE, self.made, self.plan, *where, False, self.estimator.deterministic)
        arranged = solver.arrange(task)
        session = self.steps.Session(state, self.layout, self.walk, self.made.history)
        return session, solver.begin(session, task, arranged)

    def complete(self, state):
        """The State to keep of one that was trained."""
        return start.ranked_for_strangers(state, self.counts[1])


def ready_of(orders, walk, seed, near, steps):
    """prepare.ready.Ready of clicks in orders: no biases; walk, near: see ready.Way."""
    history = ready.history_of(orders, start.SCALE, steps)
    side = ready.side_of(orders, walk, start.SCALE, seed, steps)
    query = ready.training_query(history, orders, side, walk, steps) if near else None
    return ready.Ready(history, side, query, tuple(steps.zeros(rows, np.float64) for rows in orders.shape))
