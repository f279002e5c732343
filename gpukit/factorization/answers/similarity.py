"""Similarity of items or users by the model's ratings and factors.

Item j is the vector a_j over the users, with level + z_ij - B_ij where user i rated it (z in deviations, B the
bias-only predictor) and 0 elsewhere. So common raters count, and more if they rated both above their usual level. With
n common raters the similarity of two items is

    n / (n + damping)  (cosine(a_j, a_k) + factors cosine(v_j, v_k)) / (1 + factors)

so that few common raters count little (Koren 2010, sec. 2.2, has the damping). Users are compared in the same way, by
the items rated in common. docs/recommendations.md compares this with alternatives.
"""

from typing import NamedTuple

import numpy as np

from gpukit._jit import njit
from gpukit.factorization.model.layout import BASE
from gpukit.factorization.twins import row_products
from gpukit.scheduler import by_block

LEVEL = 1.0  # contribution of a rating as expected
DAMPING = 50.0  # common raters at which half of a similarity counts
FACTORS = 0.25  # weight of the factors relative to the ratings
LEAST = np.float32(1e-20)  # length of a row that is divided by


class Norms(NamedTuple):
    """Lengths of the vectors a: users (M,), items (N,), float64."""

    users: np.ndarray
    items: np.ndarray


@njit
def _weight(history, level, user_base, item_base, user, t):
    """Return level + z - B of rating t of a user."""
    z = np.float64(history.levels[history.codes[t]])
    return level + (z - np.float64(user_base[user]) - np.float64(item_base[history.items[t]]))


@njit
def sum_squares(history, level, user_base, item_base, of_users, of_items):
    """Add each rating's squared weight to its user's and its item's sum.

    history: arrays.History; level float64; user_base (M,), item_base (N,) float32; of_users (M,), of_items (N,)
    float64, zero before. O(nnz); in the order of the ratings, so that it repeats to the bit.
    """
    for user in range(of_users.size):
        for t in range(history.indptr[user], history.indptr[user + 1]):
            weight = _weight(history, level, user_base, item_base, user, t)
            of_users[user] += weight * weight
            of_items[history.items[t]] += weight * weight


@njit
def meet_items(history, level, user_base, item_base, raters, weights, products, common):
    """Compute the products of one item's vector with all items'.

    raters (n,) int64 user rows, weights (n,) float64: the item's vector; products (N,) float64, common (N,) int64, both
    zero before: the products, and the number of raters that each item shares with it.
    """
    for n in range(raters.size):
        user = raters[n]
        for t in range(history.indptr[user], history.indptr[user + 1]):
            products[history.items[t]] += weights[n] * _weight(history, level, user_base, item_base, user, t)
            common[history.items[t]] += 1


@by_block(lambda products: products.size)
def meet_users(start, stop, history, level, user_base, item_base, weights, rated, products, common):
    """Compute the products of one user's vector with all users'.

    weights (N,) float64, rated (N,) bool: the user's vector and its rated items; products (M,) float64, common (M,)
    int64, overwritten.
    """
    for user in range(start, stop):
        product, met = np.float64(0.0), 0
        for t in range(history.indptr[user], history.indptr[user + 1]):
            item = history.items[t]
            if rated[item]:
                product += weights[item] * _weight(history, level, user_base, item_base, user, t)
                met += 1
        products[user], common[user] = product, met


def norms_of(history, state):
    """Return the Norms of an arrays.History on the host and a state.State."""
    bases = bases_of(state)
    squares = [np.zeros(len(base)) for base in bases]
    sum_squares(history, LEVEL, *bases, *squares)
    return Norms(*map(np.sqrt, squares))


def bases_of(state):
    """Return contiguous baseline biases ((M,), (N,)) float32 of a State, in z."""
    sides = (state.user_extras, state.item_extras)
    return tuple(np.ascontiguousarray(extras[:, BASE]) for extras in sides)


def item_similarity(row, history, state, norms):
    """Return the similarity of item `row` to all items.

    Returns (similarity (N,) float32, common raters (N,) int64).
    """
    places = np.flatnonzero(history.items == row)
    raters = np.searchsorted(history.indptr, places, "right") - 1
    bases, z = bases_of(state), history.levels[history.codes[places]].astype(np.float64)
    weights = LEVEL + (z - bases[0][raters] - bases[1][row])
    products, common = np.zeros(len(bases[1])), np.zeros(len(bases[1]), np.int64)
    meet_items(history, LEVEL, *bases, raters, weights, products, common)
    return _blend(row, products / norms_with(norms.items, row), common, state.item_factors), common


def user_similarity(row, history, state, norms):
    """Return the similarity of user `row` to all users.

    Returns (similarity (M,) float32, items rated in common (M,) int64).
    """
    bases, entries = bases_of(state), slice(history.indptr[row], history.indptr[row + 1])
    items, z = history.items[entries], history.levels[history.codes[entries]].astype(np.float64)
    weights, rated = np.zeros(len(bases[1])), np.zeros(len(bases[1]), bool)
    weights[items], rated[items] = LEVEL + (z - bases[0][row] - bases[1][items]), True
    products, common = np.zeros(len(bases[0])), np.zeros(len(bases[0]), np.int64)
    meet_users(history, LEVEL, *bases, weights, rated, products, common)
    return _blend(row, products / norms_with(norms.users, row), common, state.user_factors), common


def norms_with(norms, row):
    """Return each length times that of a row; above 0."""
    return np.maximum(norms * norms[row], 1e-20)


def _blend(row, ratings, common, factors):
    """Return damped cosines of ratings and of factors; 0 without common ratings."""
    met, likeness = np.flatnonzero(common), np.zeros(len(common), np.float32)
    damping = common[met] / (common[met] + DAMPING)
    blend = ratings[met] + FACTORS * cosines(row, factors, met)
    likeness[met] = damping * blend / (1 + FACTORS)
    return likeness


def cosines(row, factors, others=slice(None), lengths=None):
    """Return (n,) float32 cosines of a row of factors with others.

    factors (rows, F). By default others are all rows. lengths (n,): of the others, if available. The cosine with a row
    of zeros is 0.
    """
    mine, theirs = factors[row], factors[others]
    lengths = np.linalg.norm(theirs, axis=1) if lengths is None else lengths
    return row_products(theirs, mine) / np.maximum(lengths, LEAST) / np.maximum(np.linalg.norm(mine), LEAST)
