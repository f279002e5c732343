"""Training of a lists.head.Head on a model's ratings, on their device.

The usual settings overfit sparse ratings: lists are then worse than the most popular items. So if ratings are few for
their users and items (choose.py), both numbers are chosen as for clicks (implicit/choosing.py).
"""

from types import SimpleNamespace

import numpy as np

from gpukit.device.engine import engine
from gpukit.factorization.choose import is_doubtful
from gpukit.factorization.constants import RULES
from gpukit.factorization.implicit.choosing import AXES, make_search, search_settings
from gpukit.factorization.implicit.prepared import PreparedClicks
from gpukit.factorization.lists.head import Head, weights_of
from gpukit.factorization.model.layout import LEVELS
from gpukit.factorization.model.state import start_state
from gpukit.factorization.settings import Settings
from gpukit.model_selection.splits import draw_sample
from gpukit.ratings.orders.order import Levels, Order, Orders, key_of, make_order
from gpukit.ratings.table import Ratings


def chosen(plan, estimator, history, shape, device):
    """Return the settings.Settings of a head: `plan`, with AXES chosen if ratings are few.

    estimator: as a prepared.PreparedClicks needs it; history: arrays.History of ratings of shape (M, N), on the host or
    on the device.
    """
    if not is_doubtful(history.items.size, shape):
        return plan
    sample = draw_sample(rated_pairs(history, shape, device), plan.seed, RULES.click_sample, RULES.least_users)
    search = make_search(estimator, set(AXES), sample, plan, device, lambda trial: None)
    if search is None:
        return plan
    best = search_settings(search, plan).candidate
    return plan._replace(**{axis: getattr(best, axis) for axis in AXES})


def rated_pairs(history, shape, device):
    """Return Ratings of ones, the pairs of a History."""
    steps = engine(device, "gpukit.ratings.orders")
    indptr, items = map(steps.fetch, history[:2])
    users = np.repeat(np.arange(shape[0], dtype=np.int32), np.diff(indptr)[: shape[0]])
    return Ratings(users, items, np.ones(len(users), np.float32), *(np.arange(rows) for rows in shape))


def learn_head(history, shape, device):
    """Return the Head of an arrays.History of ratings of shape (M, N).

    The History is on the host or on the device. The result is the same on every run. Raises DeviceMemoryError.
    """
    walked = SimpleNamespace(deterministic=True, walk="users")  # as an estimator
    orders = orders_of(history, shape, device)
    plan = chosen(plan_of(shape), walked, history, shape, device)
    clicks = tuple(np.diff(order.indptr[: rows + 1]) for order, rows in zip((orders.by_user, orders.by_item), shape))
    first = start_state(clicks, plan.n_factors, np.zeros((shape[1], 0), np.int32), plan.seed)
    session, training = PreparedClicks(walked, orders, device, orders).begin(plan, first)
    for epoch in range(plan.epochs):
        training.epoch(epoch)
    training.solver.solve(training.halves[0], *session.parameters[1::-1])  # users from the final items, as in fold-in
    state, numbers = session.state(), np.array([plan.regularization, plan.unobserved_weight, plan.exponent])
    return Head(state.user_factors, state.item_factors, clicks[1], numbers)


def plan_of(shape):
    """Return the settings.Settings of a head for plenty of ratings.

    shape: (M, N) of the ratings.
    """
    decay, n_factors = RULES.list_regularization, min(RULES.list_factors, *shape)
    seed = 0  # not the model's, which may have changed since it was fitted
    plan = Settings(RULES.list_epochs, "ials", "adaptive", None, decay, 1.0, False, 0, seed, n_factors)
    of_clicks = {"unobserved_weight": RULES.list_unobserved_weight, "exponent": RULES.list_exponent}
    return plan._replace(feedback="implicit", **of_clicks)


def orders_of(history, shape, device):
    """Return the ratings.orders.Orders of a History, with weights as values.

    The History is sorted by user already, and codes are kept.
    """
    steps = engine(device, "gpukit.ratings.orders")
    indptr, levels = map(steps.fetch, history[::3])
    on_host = [isinstance(array, np.ndarray) for array in history[:3]]
    starts, items, codes = (steps.resident(a, a.dtype) if host else a for a, host in zip(history, on_host))
    size = items.size
    key, keys, users = key_of(shape, LEVELS), steps.empty(size, np.uint64), steps.empty(size, np.int32)
    wrong = steps.resident(np.array([size]), np.int64)
    steps.run("name_rows", starts, users)
    steps.run("pack_keys", users, items, codes, *shape, key.item.shift, key.user.shift, keys, wrong)
    keys, _, _ = steps.sort_by_bits(keys, 0, key.user.shift, None)
    by_item = make_order(keys, key, (key.item, 0), key.user, steps.empty(0, np.uint32), steps)
    by_user = Order(indptr, starts, items, codes)
    known = Levels(weights_of(levels), True, np.zeros(len(levels), np.int64))
    return Orders(shape, known, by_item, by_user, steps.empty(0, np.uint32), None)
