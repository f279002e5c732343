"""The head that ranks lists of a model of ratings: factors of who rates what at all, learned from the same pairs.

A prediction says how an item would be rated if it were rated; most never would be, and which ones are tells more than
how (Steck, "Training and testing of recommender systems on data missing not at random", KDD 2010). So lists are ranked
by iALS (solvers/ials) over all pairs, rated or not, in which a rating weighs 1 + SHARE z, z in deviations from the
mean: what was liked weighs more than what was not. learning.py learns it.
docs/factorization.md has what this was compared with.
"""

from typing import NamedTuple

import numpy as np

from gpukit.factorization.implicit import start
from gpukit.factorization.model.layout import BIAS
from gpukit.factorization.model.state import KEPT, State
from gpukit.factorization.solvers.ials.fold import fold_in, gram_of
from gpukit.io import trust

SHARE, LEAST = 0.15, 0.1  # of z in a weight; of a weight
LARGEST, MOST = 1e15, 1 << 53  # of numbers, of ratings


class Head(NamedTuple):
    """user_factors (M, d), item_factors (N, d) float32: scores are their products; clicks (N,) int64: ratings of each
    item, by which it ranks for who is not known; numbers (3,) float64: lambda, alpha0 and nu, by which new users are
    solved for."""

    user_factors: np.ndarray
    item_factors: np.ndarray
    clicks: np.ndarray
    numbers: np.ndarray


class SolvedBy(NamedTuple):
    """What fold_in asks of settings: lambda, alpha0, nu."""

    regularization: float
    unobserved_weight: float
    exponent: float


def weights_of(z):
    """float32 weights of ratings z, in deviations from the mean."""
    return np.maximum(1 + SHARE * z, LEAST).astype(np.float32)


def state_of(head):
    """The State that ranks by a Head."""
    sides = []
    for factors in head[:2]:
        sides += [factors, np.zeros((len(factors), KEPT), np.float32)]
    items = len(head.item_factors)
    state = State(*sides, np.zeros((items, 2, 0), np.float32), np.zeros((items, 0), np.int32))
    return start.ranked_for_strangers(state, head.clicks)


def folding(head, state):
    """The function of an update.fold.UserRatings, a new user's ratings, that scores all items: factors are solved for
    as training has it (solvers/ials/fold.py). state: the State that ranks by the Head."""
    gram = gram_of(head.item_factors)
    numbers = SolvedBy(*map(float, head.numbers))
    bias = state.item_extras[:, BIAS]

    def score(given):
        lists = np.array([0, len(given.items)]), given.items, weights_of(given.z)
        return head.item_factors @ fold_in(head.item_factors, *lists, numbers, gram)[0] + bias

    return score


def check_head(head, shape, what="head"):
    """DataError unless a Head from a file fits ratings of shape (M, N)."""
    factors = head.item_factors.shape[-1] if head.item_factors.ndim else 0
    sides = (shape[0], factors), (shape[1], factors)
    for name, array, wanted in zip(Head._fields, head, sides):
        trust.check_array(f"{what}.{name}", array, np.float32, wanted)
        trust.check_finite(f"{what}.{name}", array, LARGEST)
    trust.check_array(f"{what}.clicks", head.clicks, np.int64, (shape[1],))
    trust.check_range(f"{what}.clicks", head.clicks, 0, MOST)
    trust.check_array(f"{what}.numbers", head.numbers, np.float64, (3,))
    trust.check_finite(f"{what}.numbers", head.numbers, LARGEST)
    trust.check_range(f"{what}.numbers", head.numbers, 0, LARGEST)
