"""Ranking head of a model of ratings: factors for the occurrence of ratings.

A predicted rating assumes that the item is rated; most never would be, and the occurrence of ratings is more
informative than their values (Steck, "Training and testing of recommender systems on data missing not at random", KDD
2010). So lists are ranked by iALS (solvers/ials) over all pairs, rated or not, in which a rating has weight 1 + s
z, z in deviations from the mean: liked items have more weight. learning.py trains it. docs/recommendations.md compares
it with alternatives.
"""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from gpukit.factorization.constants import RULES
from gpukit.factorization.model.layout import BIAS
from gpukit.factorization.model.state import state_of_factors, with_popularity
from gpukit.factorization.solvers.ials import fold_in, gram_of
from gpukit.factorization.twins import row_products


class Head(NamedTuple):
    """Factors of the ranking; scores are their products.

    user_factors (M, d), item_factors (N, d) float32; clicks (N,) int64: ratings of each item, which rank items for
    unknown users; numbers (3,) float64: lambda, alpha0 and nu, for the fold-in of new users.
    """

    user_factors: np.ndarray
    item_factors: np.ndarray
    clicks: np.ndarray
    numbers: np.ndarray


def weights_of(z):
    """Return float32 weights of ratings z, in deviations from the mean."""
    return np.maximum(1 + RULES.rating_slope * z, RULES.least_rating_weight).astype(np.float32)


def state_of(head):
    """Return the State that ranks by a Head."""
    return with_popularity(state_of_factors(*head[:2]), head.clicks)


def folding(head, state):
    """Return a function that scores all items for an answers.fold_in.UserRatings.

    A new user's factors are solved for as in training (solvers/ials.py). state: that ranks by the Head.
    """
    gram = gram_of(head.item_factors)
    names = "regularization", "unobserved_weight", "exponent"
    settings = SimpleNamespace(**dict(zip(names, map(float, head.numbers))))
    bias = state.item_extras[:, BIAS]

    def score(ratings):
        lists = np.array([0, len(ratings.items)]), ratings.items, weights_of(ratings.z)
        return row_products(head.item_factors, fold_in(head.item_factors, *lists, settings, gram)[0]) + bias

    return score
