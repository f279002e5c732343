"""How strongly the head of a few ratings is held small, and what unrated pairs weigh in it, chosen from the ratings.

What suits MovieLens 1M learns sparser ratings by heart: lists are then worse than the most popular items. So where
ratings are few for their users and items (choose/rule.py), both numbers are sought as of clicks: by where a rating of
each of many users, held out, stands among all items that the user has not rated. Of many ratings some users do.
"""

import numpy as np

from gpukit.device.engine import engine
from gpukit.factorization.choose.rule import is_doubtful
from gpukit.factorization.implicit import hold_out
from gpukit.factorization.implicit.choosing import AXES, Contest, least_squares
from gpukit.factorization.implicit.evaluator import Evaluator
from gpukit.ratings.table import Ratings


def chosen(plan, estimator, history, shape, device):
    """settings.Settings of a head: `plan`, its regularization and unobserved weight chosen where that is called for.

    estimator: what a prepared.PreparedClicks asks of one; history: arrays.History of ratings of shape (M, N), on the
    host or on the device. The same on every run.
    """
    if not is_doubtful(history.items.size, shape):
        return plan
    train, judges = hold_out.held_out(rated_by_some(history, shape, plan.seed, device), plan.seed)
    if len(judges.users) < hold_out.FEW:
        return plan
    contest = Contest(estimator, set(AXES), ("ials",), 0, [], lambda *told: None)
    found = least_squares(contest, Evaluator(estimator, train, judges, device), plan).settings
    return plan._replace(**{axis: getattr(found, axis) for axis in AXES})


def rated_by_some(history, shape, seed, device):
    """Ratings of ones: who rated what in a History, of as many whole users as have about hold_out.SAMPLE of them."""
    steps = engine(device, "gpukit.ratings.orders")
    indptr, items = (part if isinstance(part, np.ndarray) else steps.fetch(part) for part in history[:2])
    counts = np.diff(indptr)[: shape[0]]
    users = np.repeat(np.arange(shape[0], dtype=np.int32), counts)
    kept = hold_out.some_users(len(items), shape[0], seed)[users]
    ones = np.ones(np.count_nonzero(kept), np.float32)
    return Ratings(users[kept], items[kept], ones, *(np.arange(rows) for rows in shape))
