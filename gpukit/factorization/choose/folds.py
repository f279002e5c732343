"""Held-out parts of the training ratings, large enough to judge reliably."""

import numpy as np

from gpukit.streams import Numpy

SHARE, LARGEST_SHARE = 0.1, 0.2  # fraction of the ratings in one part; its maximum, for few ratings
ENOUGH, MOST = 6_000, 50_000  # target of judging ratings over all parts; maximum of one part
MOST_PARTS = 5


def folds(ratings, seed, share=None):
    """Return a list of (train, held_out), Ratings with the same id maps.

    Held-out parts are random and disjoint. share: fraction of the ratings in a part; None: SHARE, more for few ratings,
    less for very many.
    """
    n = len(ratings)
    share = share or min(max(SHARE, ENOUGH / (MOST_PARTS * n)), LARGEST_SHARE)
    size = max(1, min(int(share * n), n // 2, MOST))
    parts = max(1, min(-(-ENOUGH // size), MOST_PARTS, n // size))
    order = np.random.default_rng([seed, Numpy.JUDGES[0]]).permutation(n)
    return [_parted(ratings, order[part * size : (part + 1) * size]) for part in range(parts)]


def _parted(ratings, judges):
    """Return (other ratings, judging ratings), both in their order."""
    trains = np.ones(len(ratings), np.bool_)
    trains[judges] = False
    return ratings.take(trains), ratings.take(~trains)
