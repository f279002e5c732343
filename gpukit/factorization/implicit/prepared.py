"""Clicks on a device, in the form that trainings read; made once for any number of them."""

import numpy as np

from gpukit.device.engine import engine
from gpukit.factorization import run as runs
from gpukit.factorization.implicit import start
from gpukit.factorization.implicit.weights import weighted
from gpukit.factorization.model.layout import major_first
from gpukit.factorization.prepare import training_data
from gpukit.factorization.shared.rows import share_of
from gpukit.factorization.solvers import Task, training_of
from gpukit.parallel import ALONE
from gpukit.ratings.orders.order import order_ratings


class PreparedClicks:
    """Clicks, Ratings whose values are 1, for trainings of an estimator on a Device.

    orders: the clicks in two orders where these are made already, what they weigh as their values; team: the
    parallel.Team whose ranks solve for rows together.
    """

    def __init__(self, estimator, clicks, device, orders=None, team=ALONE):
        self.estimator, self.clicks, self.device, self.team = estimator, clicks, device, team
        self.steps, self.made = engine(device, "gpukit.factorization"), {}
        self.given = orders

    @property
    def counts(self):
        """(clicks of each user (M,), of each item (N,))."""
        sides = self.clicks.users, self.clicks.items
        return tuple(np.bincount(rows, minlength=size) for rows, size in zip(sides, self.clicks.shape))

    def orders(self, plan):
        """The clicks in two orders, by what they weigh for settings.Settings."""
        if self.given is not None:
            return self.given
        way = "orders", plan.counted, plan.recency
        if way not in self.made:
            self.made[way] = order_ratings(weighted(self.clicks, plan), self.device)
        return self.made[way]

    def ready(self, plan, walk, near):
        """TrainingData of the clicks; walk, near: see PreparationOptions."""
        way = "ready", plan.counted, plan.recency, walk, near
        if way not in self.made:
            self.made[way] = ready_of(self.orders(plan), walk, plan.seed, near, self.steps.preparing)
        return self.made[way]

    def neighbors(self, plan, progress=None):
        """(N, K) int32 on the host, as many as a training looks at; progress: see fit, None to be quiet."""
        if not plan.learned_neighbors:
            return np.zeros((self.clicks.shape[1], 0), np.int32)
        where = self.orders(plan), self.steps, plan.learned_neighbors
        found = self.estimator.searched(*where, progress)() if progress else self.estimator.find_neighbors(*where)
        return found if isinstance(found, np.ndarray) else found.copy_to_host()


def ready_of(orders, walk, seed, near, steps):
    """TrainingData of clicks in orders: no biases; walk, near: see PreparationOptions."""
    history = training_data.history_of(orders, start.SCALE, steps)
    side = training_data.side_of(orders, walk, start.SCALE, seed, steps)
    query = training_data.training_query(history, orders, side, walk, steps) if near else None
    biases = tuple(steps.zeros(rows, np.float64) for rows in orders.shape)
    return training_data.TrainingData(history, side, query, biases)


class Course:
    """The way of one training over a PreparedClicks, for settings.Settings."""

    def __init__(self, prepared, plan):
        self.prepared, self.plan = prepared, plan
        self.walk = "users" if plan.solver == "ials" else prepared.estimator.walk
        self.layout = prepared.steps.layout(plan.n_factors, plan.learned_neighbors)
        sides = major_first(self.walk, *prepared.clicks.shape)
        runs.check_memory(prepared.device, len(prepared.clicks), sides, self.layout)
        self.made = prepared.ready(plan, self.walk, plan.learned_neighbors > 0)

    def first(self, neighbors):
        """The State that training begins with."""
        return start.start_state(self.prepared.counts, self.plan.n_factors, neighbors, self.plan.seed)

    def begin(self, state):
        """(session, its solver's Training) that go on from a State."""
        prepared, solver = self.prepared, training_of(self.plan.solver)
        where, exact = (self.layout, prepared.steps, prepared.device), prepared.estimator.deterministic
        share = share_of(prepared.clicks, self.plan.n_factors, prepared.team, prepared.device)
        task = Task(prepared.orders(self.plan), start.SCALE, self.made, self.plan, *where, exact, share)
        arranged = solver.arrange(task)
        session = prepared.steps.Session(state, self.layout, self.walk, self.made.history)
        return session, solver.begin(session, task, arranged)
