"""Regularization and unobserved weight of the head for few ratings.

The usual settings overfit sparse ratings: lists are then worse than the most popular items. So if ratings are few for
their users and items (choose/rule.py), both numbers are chosen as for clicks (implicit/choosing.py).
"""

import numpy as np

from gpukit.device.engine import engine
from gpukit.factorization.choose.rule import is_doubtful
from gpukit.factorization.implicit import hold_out
from gpukit.factorization.implicit.choosing import AXES, make_contest, search_settings
from gpukit.model_selection.splits import draw_sample
from gpukit.ratings.table import Ratings


def chosen(plan, estimator, history, shape, device):
    """Return the settings.Settings of a head: `plan`, with AXES chosen if ratings are few.

    estimator: as a prepared.PreparedClicks needs it; history: arrays.History of ratings of shape (M, N), on the host or
    on the device.
    """
    if not is_doubtful(history.items.size, shape):
        return plan
    sample = draw_sample(rated_pairs(history, shape, device), plan.seed, hold_out.SAMPLE, hold_out.FEW)
    contest = make_contest(estimator, set(AXES), sample, plan, device, lambda *event: None)
    if contest is None:
        return plan
    best = search_settings(contest, plan).candidate
    return plan._replace(**{axis: getattr(best, axis) for axis in AXES})


def rated_pairs(history, shape, device):
    """Return Ratings of ones, the pairs of a History."""
    steps = engine(device, "gpukit.ratings.orders")
    indptr, items = (part if isinstance(part, np.ndarray) else steps.fetch(part) for part in history[:2])
    users = np.repeat(np.arange(shape[0], dtype=np.int32), np.diff(indptr)[: shape[0]])
    return Ratings(users, items, np.ones(len(users), np.float32), *(np.arange(rows) for rows in shape))
