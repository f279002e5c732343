"""Who judges: disjoint parts of the training ratings, enough of them that the judgement is no matter of luck."""

import numpy as np

from gpukit.streams import Numpy

SHARE, LARGEST_SHARE = 0.1, 0.2  # of the ratings in one part, and where they are few
ENOUGH, MOST = 6_000, 50_000  # judging ratings wanted of all parts together, and taken of one
MOST_PARTS = 5


def folds(ratings, seed, share=None):
    """[(train, held_out), ...]: Ratings with the same id maps; held-out ones are drawn at random, no two parts
    share one. share: of the ratings in a part (None: SHARE, more where ratings are few, less where they are very
    many)."""
    n = len(ratings)
    share = share or min(max(SHARE, ENOUGH / (MOST_PARTS * n)), LARGEST_SHARE)
    size = max(1, min(int(share * n), n // 2, MOST))
    parts = max(1, min(-(-ENOUGH // size), MOST_PARTS, n // size))
    order = np.random.default_rng([seed, Numpy.JUDGES[0]]).permutation(n)
    return [_parted(ratings, order[part * size : (part + 1) * size]) for part in range(parts)]


def _parted(ratings, judges):
    """(the others, those) of ratings, in their order."""
    trains = np.ones(len(ratings), np.bool_)
    trains[judges] = False
    return ratings.take(trains), ratings.take(~trains)
