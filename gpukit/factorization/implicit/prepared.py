"""Clicks on a device with their weights, prepared once for any number of trainings."""

import numpy as np

from gpukit.device.engine import engine
from gpukit.factorization import run as runs
from gpukit.factorization.constants import RULES
from gpukit.factorization.implicit.states import SCALE, start_state
from gpukit.factorization.model.layout import major_first
from gpukit.factorization.prepare import training_data
from gpukit.factorization.shared.partition import share_of
from gpukit.factorization.solvers import Task, training_of
from gpukit.parallel import ALONE
from gpukit.ratings.orders.order import order_ratings


def weigh_clicks(clicks, settings):
    """Return clicks as Ratings whose values are their weights by settings.Settings: 1, more for frequent and late ones.

    counted: 1 + log(count); recency a: multiplied by 1 + a exp(-k / 10) for the k-th last click of a user. Equal times
    count in their order in the data.
    """
    weights = np.ones(len(clicks), np.float32)
    if settings.counted and clicks.counts is not None:
        weights += np.log(np.maximum(clicks.counts, 1)).astype(np.float32)
    if settings.recency and clicks.times is not None:
        rank, size = clicks.ranks_in_time("user-time")
        late = np.exp(-(size - 1 - rank) / RULES.recent_clicks)
        weights *= (1.0 + settings.recency * late).astype(np.float32)
    return clicks.with_columns(users=clicks.users, items=clicks.items, values=weights)


class PreparedClicks:
    """Clicks on a Device for trainings of an estimator.

    clicks: Ratings whose values are 1; orders: the clicks in two orders with their weights as values, if these exist;
    team: the parallel.Team whose ranks solve for rows together.
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

    def once(self, key, make):
        """Return the result of make(), which is called once for a key."""
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]

    def orders(self, plan):
        """Return the clicks in two orders, with the weights of settings.Settings."""
        if self.given is not None:
            return self.given
        key = "orders", plan.counted, plan.recency
        return self.once(key, lambda: order_ratings(weigh_clicks(self.clicks, plan), self.device))

    def ready(self, plan, walk, near):
        """Return TrainingData of the clicks; walk, near: see PreparationOptions."""
        key = "ready", plan.counted, plan.recency, walk, near
        return self.once(
            key, lambda: make_training_data(self.orders(plan), walk, plan.seed, near, self.steps.preparing)
        )

    def neighbors(self, plan, progress=None):
        """Return (N, K) int32 on the host, K the neighbours in training; the search is run once.

        progress: see fit; None for no reports.
        """
        return self.once(("neighbors", plan.learned_neighbors), lambda: self._find_neighbors(plan, progress))

    def _find_neighbors(self, plan, progress):
        if not plan.learned_neighbors:
            return np.zeros((self.clicks.shape[1], 0), np.int32)
        options = self.orders(plan), self.steps, plan.learned_neighbors
        result = self.estimator.searched(*options, progress)() if progress else self.estimator.find_neighbors(*options)
        return result if isinstance(result, np.ndarray) else result.copy_to_host()


def make_training_data(orders, walk, seed, near, steps):
    """Return TrainingData of clicks in orders, without biases.

    walk, near: see PreparationOptions.
    """
    history = training_data.history_of(orders, SCALE, steps)
    side = training_data.side_of(orders, walk, SCALE, seed, steps)
    query = training_data.training_query(history, orders, side, walk, steps) if near else None
    biases = tuple(steps.zeros(rows, np.float64) for rows in orders.shape)
    return training_data.TrainingData(history, side, query, SCALE, biases)


class Course:
    """Training over a PreparedClicks with settings.Settings."""

    def __init__(self, prepared, plan):
        self.prepared, self.plan = prepared, plan
        self.walk = "users" if plan.solver == "ials" else prepared.estimator.walk
        self.layout = prepared.steps.layout(plan.n_factors, plan.learned_neighbors)
        sides = major_first(self.walk, *prepared.clicks.shape)
        runs.check_memory(prepared.device, len(prepared.clicks), sides, self.layout)
        self.made = prepared.ready(plan, self.walk, plan.learned_neighbors > 0)

    def first(self, neighbors):
        """Return the State at the start of training."""
        return start_state(self.prepared.counts, self.plan.n_factors, neighbors, self.plan.seed)

    def begin(self, state):
        """Return (session, its solver's Training) that continue from a State."""
        prepared, solver = self.prepared, training_of(self.plan.solver)
        where, exact = (self.layout, prepared.steps, prepared.device), prepared.estimator.deterministic
        share = share_of(prepared.clicks, self.plan.n_factors, prepared.team, prepared.device)
        task = Task(prepared.orders(self.plan), SCALE, self.made, self.plan, *where, exact, share)
        arranged = solver.arrange(task)
        session = prepared.steps.DeviceModel(state, self.layout, self.walk, self.made.history)
        return session, solver.begin(session, task, arranged)
