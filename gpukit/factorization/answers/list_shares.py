"""A list score as the sum of the user's ratings' contributions.

A list score is u_i v_j plus the item's popularity. The user's factors solve A u_i = sum_k w_k v_k over the items k that
the user has rated (solvers/ials/formulas.py). So rating k adds w_k v_k A^-1 v_j (Hu, Koren, Volinsky 2008, section 5).
Training solves for them by a few steps of conjugate gradients; the remainder is a separate part.
"""

import numpy as np

from gpukit.factorization.answers.explaining import Rated, as_read
from gpukit.factorization.lists.head import weights_of
from gpukit.factorization.model.layout import BIAS
from gpukit.factorization.solvers.ials.formulas import decays_of, gram_of


def list_terms(model, user_row, item_row):
    """Return the fields prediction to n_unrated of a list score's Explanation."""
    ranking = model._ranking("lists")
    head, state = ranking.head, ranking.state
    if item_row == len(model.item_ids_):
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, (), 0.0, 0
    popularity, rated, score = float(state.item_extras[item_row, BIAS]), (), 0.0
    if user_row < len(model.user_ids_):
        rated = rated_parts(model, head, user_row, item_row)
        score = float(head.user_factors[user_row].astype(np.float64) @ head.item_factors[item_row])
    rest = score - sum(rating.share for rating in rated)
    total = score + popularity
    return float(np.float32(total)), total, 0.0, 0.0, popularity, rest, rated, 0.0, 0


def rated_parts(model, head, user_row, item_row):
    """Return (Rated, ...) of a user's ratings for an item's list score.

    The largest share is first.
    """
    history, scale = model._rated, model._scale
    entries = slice(*history.indptr[user_row : user_row + 2])
    items, z = history.items[entries], history.levels[history.codes[entries]]
    factors, weights = head.item_factors[items].astype(np.float64), weights_of(z).astype(np.float64)
    gram = model._prepare("gram", lambda: gram_of(head.item_factors))
    matrix = normal_matrix(head, factors, weights, gram)
    shares = weights * (factors @ np.linalg.solve(matrix, head.item_factors[item_row]))
    order = np.argsort(-np.abs(shares), kind="stable")
    columns = model.item_ids_[items], as_read(z, scale), weights, shares
    return tuple(
        Rated(item, rating, None, weight, share)
        for item, rating, weight, share in zip(*(column[order].tolist() for column in columns))
    )


def normal_matrix(head, factors, weights, gram):
    """Return the (F, F) float64 normal matrix of a user's factors.

    factors (n, F), weights (n,): of the user's ratings; gram: gram_of(head.item_factors).
    """
    decay, unobserved, exponent = map(float, head.numbers)
    ridge = decays_of([len(factors)], len(head.item_factors), decay, unobserved, exponent)
    shared = unobserved * gram + float(ridge[0]) * np.eye(factors.shape[1])
    return shared + (factors * weights[:, None]).T @ factors
