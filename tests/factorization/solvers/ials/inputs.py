"""Small awkward clicks for tests of twins and kernels."""

from types import SimpleNamespace

import numpy as np

from gpukit import device as devices
from gpukit.device.engine import engine
from gpukit.factorization.arrays import UNSCALED
from gpukit.factorization.implicit.prepared import make_training_data
from gpukit.factorization.model.state import start_state
from gpukit.factorization.solvers import Task, als
from gpukit.ratings import Ratings
from gpukit.ratings.orders.order import order_ratings

TERMS = 0.05, 0.3, 0.8  # lambda, alpha0, nu


def clicks_of(n_users=23, n_items=14, density=0.3, weighted=False, seed=0):
    """Return [(user, item, w)] with distinct pairs.

    One user has all items, one item has no clicks.
    """
    rng = np.random.default_rng(seed)
    clicked = rng.uniform(size=(n_users, n_items)) < density
    clicked[3], clicked[:, 5], clicked[9] = True, False, False
    pairs = np.argwhere(clicked)
    weights = rng.choice([0.5, 1, 2.5], len(pairs)) if weighted else np.ones(len(pairs))
    return [(int(user), int(item), float(w)) for (user, item), w in zip(pairs, weights)]


def ratings_of(clicks, shape):
    """Ratings of clicks."""
    users, items, weights = (np.array(column) for column in zip(*clicks))
    ids = np.arange(shape[0]), np.arange(shape[1])
    return Ratings(users.astype(np.int32), items.astype(np.int32), weights.astype(np.float32), *ids)


def begun(clicks, shape, n_factors, device="cpu", seed=0):
    """Return (session, Training) on a device."""
    reg, alpha0, nu = TERMS
    settings = SimpleNamespace(
        regularization=reg, unobserved_weight=alpha0, exponent=nu, seed=seed, row_solver="auto", solver="ials"
    )
    device = devices.resolve(device)
    steps = engine(device, "gpukit.factorization")
    orders = order_ratings(ratings_of(clicks, shape), device)
    made = make_training_data(orders, "users", seed, False, steps)
    layout = steps.layout(n_factors, 0)
    arranged = als.arrange(task := Task(orders, UNSCALED, made, settings, layout, steps, device, False))
    counts = [np.bincount([click[at] for click in clicks], minlength=shape[at]) for at in range(2)]
    state = start_state(counts, n_factors, np.zeros((shape[1], 0), np.int32), seed)
    session = steps.DeviceModel(state, layout, "users", made.history)
    return session, als.begin(session, task, arranged)
