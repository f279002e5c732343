"""Whether plenty of ratings are worth what the usual settings take for granted, told by a sample of their users.

Many ratings of a user say much of a taste only where there is one: of noise the usual settings learn the more by heart
the more there is. Users of a sample have all their ratings, items few of theirs, so what factors add to damped biases
there they add the more in the whole.
"""

import numpy as np

from gpukit.factorization.baseline import USUAL
from gpukit.factorization.choose import rule
from gpukit.factorization.choose.candidates import PATIENCE
from gpukit.factorization.choose.evaluator import Evaluator, curve
from gpukit.factorization.choose.folds import folds
from gpukit.factorization.choose.share import share_of
from gpukit.factorization.prepare.training_data import PreparationOptions
from gpukit.runtime import thread_count
from gpukit.streams import Numpy

SIZE = 50_000  # ratings of a sample, about: a twentieth of MovieLens 1M


def usual_suits(estimator, ratings, settings, device):
    """Whether the usual settings.Settings may be relied on for Ratings: they are plenty, and on a sample of them a
    few epochs add to damped biases for certain (share.py). Of very many nothing but their number is asked."""
    n = len(ratings)
    if rule.is_doubtful(n, ratings.shape):
        return False
    if n >= rule.VERY_MANY or not settings.biases or settings.solver != "sgd":
        return True
    way = PreparationOptions(estimator.walk, settings.seed, estimator.deterministic, False)
    with thread_count.limited(1):
        train, held_out = folds(of_some_users(ratings, settings.seed), settings.seed)[0]
        evaluator = Evaluator(train, held_out, way, device, _no_neighbors)
        alone = min(settings.n_factors, *train.shape)
        found = curve([evaluator], settings._replace(n_neighbors=0, n_factors=alone), PATIENCE)
        return share_of(found.errors, evaluator.biased(USUAL), settings.epochs) > 0.0


def of_some_users(ratings, seed):
    """The Ratings of users drawn at random until they have about SIZE, with rows of their own and all items."""
    users = ratings.shape[0]
    count = max(2, round(users * SIZE / len(ratings)))
    chosen = np.random.default_rng([seed, Numpy.SAMPLED_USERS[0]]).choice(users, min(count, users), replace=False)
    renamed = np.full(users, -1, np.int32)
    renamed[chosen] = np.arange(len(chosen), dtype=np.int32)
    some = ratings.take(renamed[ratings.users] >= 0)
    columns = {**some.columns(), "users": renamed[some.users]}
    return type(some)(**columns, user_ids=ratings.user_ids[chosen], item_ids=ratings.item_ids)


def _no_neighbors(orders, steps):
    return np.zeros((orders.shape[1], 0), np.int32)
