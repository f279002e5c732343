"""How a lists.head.Head is learned, of the ratings that a model carries."""

from typing import NamedTuple

import numpy as np

from gpukit.factorization.implicit.ground import Course, Ground
from gpukit.factorization.lists.head import Head, weights_of
from gpukit.factorization.settings import Settings
from gpukit.ratings import Ratings
from gpukit.ratings.orders.order import order_ratings
from gpukit.ratings.table import DISTINCT, marked

FACTORS, EPOCHS = 64, 4
REGULARIZATION, UNOBSERVED, EXPONENT = 0.005, 0.3, 1.0
SEED = 0  # not the model's, which may have been set to another since it was fitted


class Walked(NamedTuple):
    """What a Ground asks of an estimator."""

    deterministic: bool
    walk: str = "users"


def learned(history, shape, device):
    """The Head of an arrays.History on the host, of ratings of shape (M, N), learned on a device.

    The same on every run. Raises DeviceMemoryError.
    """
    plan, clicks = plan_of(shape), clicks_of(history, shape)
    ground = Ground(Walked(True), clicks, device, order_ratings(clicks, device))
    course = Course(ground, plan)
    session, training = course.begin(course.first(ground.neighbors(plan)))
    for epoch in range(plan.epochs):
        training.epoch(epoch)
    training.way.solve(training.halves[0], *session.parameters[1::-1])  # users by the last items, as new ones are
    state = session.state()
    return Head(state.user_factors, state.item_factors, np.array([REGULARIZATION, UNOBSERVED, EXPONENT]))


def plan_of(shape):
    """The settings.Settings that a head is learned by, of ratings of shape (M, N)."""
    plan = Settings(EPOCHS, "ials", "adaptive", None, REGULARIZATION, 1.0, False, 0, SEED, min(FACTORS, *shape))
    return plan._replace(feedback="implicit", unobserved_weight=UNOBSERVED, exponent=EXPONENT)


def clicks_of(history, shape):
    """Ratings whose values are the weights of a History's."""
    users = np.repeat(np.arange(shape[0], dtype=np.int32), np.diff(history.indptr)[: shape[0]])
    weights = weights_of(history.levels)[history.codes]
    clicks = Ratings(users, history.items, weights, *(np.arange(rows) for rows in shape))
    marked(clicks, DISTINCT)
    return clicks
