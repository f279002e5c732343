"""Check the default settings on a sample of users.

Many ratings of a user help only if there are preferences to learn; with noise the default settings overfit. Users of
the sample have all their ratings, items only a few. So if factors improve on damped biases in the sample, they improve
more on all ratings.
"""

import numpy as np

from gpukit.factorization.baseline import USUAL
from gpukit.factorization.choose import rule
from gpukit.factorization.choose.candidates import PATIENCE
from gpukit.factorization.choose.evaluator import Evaluator, Stopping, train_candidate
from gpukit.factorization.choose.folds import folds
from gpukit.factorization.choose.share import share_of
from gpukit.factorization.prepare.training_data import PreparationOptions
from gpukit.model_selection.splits import draw_sample
from gpukit.runtime import thread_count

SIZE = 50_000  # approximate number of ratings in a sample: a twentieth of MovieLens 1M


def usual_suits(estimator, ratings, settings, device):
    """Return True if the default settings.Settings suit Ratings.

    They suit if ratings are plenty and a few epochs on a sample surely improve on damped biases (share.py). For very
    many ratings only the number is checked.
    """
    n = len(ratings)
    if rule.is_doubtful(n, ratings.shape):
        return False
    if n >= rule.VERY_MANY or not settings.biases or settings.solver != "sgd":
        return True
    way = PreparationOptions(estimator.walk, settings.seed, estimator.deterministic, False)
    with thread_count.limited(1):
        train, held_out = folds(draw_sample(ratings, settings.seed, SIZE, least=2), settings.seed)[0]
        evaluator = Evaluator(train, held_out, way, device, _no_neighbors)
        alone = min(settings.n_factors, *train.shape)
        found = train_candidate([evaluator], settings._replace(n_neighbors=0, n_factors=alone), Stopping(PATIENCE))
        return share_of(found.errors, evaluator.biased(USUAL), settings.epochs) > 0.0


def _no_neighbors(orders, steps):
    return np.zeros((orders.shape[1], 0), np.int32)
