"""How alike two items, or two users, are: by the ratings that the model carries, and by its factors.

Item j is the vector a_j over the users, with 1 + z_ij - B_ij where user i rated it (z in deviations, B the bias-only
predictor) and 0 elsewhere: who rated both counts, and for more if they rated both above what they usually give. With n
common raters two items' likeness is

    n / (n + DAMPING)  (cosine(a_j, a_k) + FACTORS cosine(v_j, v_k)) / (1 + FACTORS)

so that few common raters say little (Koren 2010, sec. 2.2, has the damping). Users in the same way, by what they rated
in common. docs/factorization.md has what this was compared with.
"""

from typing import NamedTuple

import numpy as np

from gpukit._jit import njit, prange
from gpukit.factorization.model.layout import BASE

DAMPING = np.float64(50.0)  # common raters at which half of a likeness counts
FACTORS = np.float64(0.25)  # the factors' weight beside the ratings'


class Norms(NamedTuple):
    """Lengths of the vectors a, of users (M,) and of items (N,), float64: what all questions of likeness share."""

    users: np.ndarray
    items: np.ndarray


@njit
def _weight(history, user_base, item_base, user, t):
    """1 + z - B of rating t, which is user's."""
    z = np.float64(history.levels[history.codes[t]])
    return np.float64(1.0) + (z - np.float64(user_base[user]) - np.float64(item_base[history.items[t]]))


@njit
def sum_squares(history, user_base, item_base, of_users, of_items):
    """Add each rating's squared weight to its user's and its item's sum.

    history: arrays.History; user_base (M,), item_base (N,) float32; of_users (M,), of_items (N,) float64, zero before.
    O(nnz); in the order of the ratings, so that it repeats to the bit.
    """
    for user in range(of_users.size):
        for t in range(history.indptr[user], history.indptr[user + 1]):
            weight = _weight(history, user_base, item_base, user, t)
            of_users[user] += weight * weight
            of_items[history.items[t]] += weight * weight


@njit
def meet_items(history, user_base, item_base, raters, weights, products, common):
    """Products of one item's vector with all items', from its raters' histories.

    raters (n,) int64 user rows, weights (n,) float64: the item's vector; products (N,) float64, common (N,) int64, both
    zero before: the products, and how many raters each item shares with it.
    """
    for n in range(raters.size):
        user = raters[n]
        for t in range(history.indptr[user], history.indptr[user + 1]):
            products[history.items[t]] += weights[n] * _weight(history, user_base, item_base, user, t)
            common[history.items[t]] += 1


@njit(parallel=True)
def meet_users(history, user_base, item_base, weights, rated, products, common):
    """Products of one user's vector with all users', from their histories.

    weights (N,) float64, rated (N,) bool: the user's vector and where it has ratings; products (M,) float64, common
    (M,) int64, overwritten.
    """
    for user in prange(products.size):
        product, met = np.float64(0.0), 0
        for t in range(history.indptr[user], history.indptr[user + 1]):
            item = history.items[t]
            if rated[item]:
                product += weights[item] * _weight(history, user_base, item_base, user, t)
                met += 1
        products[user], common[user] = product, met


def norms_of(history, state):
    """The Norms of an arrays.History on the host and a state.State."""
    bases = bases_of(state)
    squares = [np.zeros(len(base)) for base in bases]
    sum_squares(history, *bases, *squares)
    return Norms(*map(np.sqrt, squares))


def bases_of(state):
    """Contiguous baseline biases ((M,), (N,)) float32 of a State, in z."""
    sides = (state.user_extras, state.item_extras)
    return tuple(np.ascontiguousarray(extras[:, BASE]) for extras in sides)


def of_item(row, history, state, norms):
    """(likeness (N,) float32, common raters (N,) int64) of the item `row` to all items."""
    places = np.flatnonzero(history.items == row)
    raters = np.searchsorted(history.indptr, places, "right") - 1
    bases, z = bases_of(state), history.levels[history.codes[places]].astype(np.float64)
    weights = 1 + (z - bases[0][raters] - bases[1][row])
    products, common = np.zeros(len(bases[1])), np.zeros(len(bases[1]), np.int64)
    meet_items(history, *bases, raters, weights, products, common)
    return _blended(row, products, norms.items, common, state.item_factors), common


def of_user(row, history, state, norms):
    """(likeness (M,) float32, items rated in common (M,) int64) of the user `row` to all users."""
    bases = bases_of(state)
    mine = slice(history.indptr[row], history.indptr[row + 1])
    items, z = history.items[mine], history.levels[history.codes[mine]].astype(np.float64)
    weights, rated = np.zeros(len(bases[1])), np.zeros(len(bases[1]), bool)
    weights[items], rated[items] = 1 + (z - bases[0][row] - bases[1][items]), True
    products, common = np.zeros(len(bases[0])), np.zeros(len(bases[0]), np.int64)
    meet_users(history, *bases, weights, rated, products, common)
    return _blended(row, products, norms.users, common, state.user_factors), common


def _blended(row, products, norms, common, factors):
    """Damped cosines of ratings and of factors."""
    ratings = products / np.maximum(norms * norms[row], 1e-20)
    damping = common / (common + DAMPING)
    return (damping * (ratings + FACTORS * cosines(row, factors)) / (1 + FACTORS)).astype(np.float32)


def cosines(row, factors):
    """(rows,) float32 cosines of a row of factors (rows, F) with all rows; 0 of and with a row of zeros."""
    norms = np.maximum(np.linalg.norm(factors, axis=1), np.float32(1e-20))
    return factors @ factors[row] / norms / norms[row]
