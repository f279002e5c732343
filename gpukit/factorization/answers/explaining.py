"""A predicted rating as the sum of the terms of Eq. (1), in rating units; a list score as the sum of contributions.

A list score is u_i v_j plus the item's popularity. The user's factors solve A u_i = sum_k w_k v_k over the items k that
the user has rated (solvers/ials.py). So rating k adds w_k v_k A^-1 v_j (Hu, Koren, Volinsky 2008, section 5).
Training solves for them by a few steps of conjugate gradients; the remainder is a separate part.
"""

from typing import Any, NamedTuple

import numpy as np

from gpukit.factorization.model.layout import BASE, BIAS
from gpukit.factorization.solvers.ials import decays_of, gram_of


class Rated(NamedTuple):
    """A rated item that adds to a score.

    For a predicted rating it is a neighbour: its id, the user's rating, the rating that biases alone predict, the
    weight w_jk / sqrt(|R|), and the share (rating - expected) * weight of the prediction. Weights between items, of
    clicks, are added to it. For a list score: its id, the
    user's rating, None, the weight of the rating in the training of lists, and its share of the score.
    """

    item: Any
    rating: float
    expected: float | None
    weight: float
    share: float


class Explanation(NamedTuple):
    """A score and its parts.

    by: 'rating' or 'lists'. For 'rating': prediction: the result of predict; total: the same before clipping, the sum
    of mean, user_bias, item_bias, factors, the shares of rated (largest first) and unrated, the part c of the n_unrated
    neighbours that the user has not rated. known_user, known_item: whether the model has them; user_ratings,
    item_ratings: number of ratings of each in training. For 'lists': prediction and total: the score that recommend
    shows; item_bias: the item's popularity; rated: all items that the user has rated; factors: the remainder of the
    approximate solution for the user; mean, user_bias and unrated are 0.
    """

    user: Any
    item: Any
    prediction: float
    total: float
    mean: float
    user_bias: float
    item_bias: float
    factors: float
    rated: tuple[Rated, ...]
    unrated: float
    n_unrated: int
    known_user: bool
    known_item: bool
    user_ratings: int
    item_ratings: int
    by: str = "rating"

    @property
    def clipped(self):
        """True if the sum is outside the scale and the prediction clipped."""
        return self.prediction != float(np.float32(self.total))


def row_of(factors, extras, row):
    """Return (factors (F,), extras (3,)) of a row, float64; zeros for an unknown id, the row behind the last."""
    sides = factors, extras
    return (side[row].astype(np.float64) if row < len(side) else np.zeros(side.shape[1]) for side in sides)


def ratings_of(model, user_row):
    """Return (item rows, codes) (n,) of a user's ratings, sorted by item."""
    entries = slice(*model._rated.indptr[user_row : user_row + 2])
    return model._rated.items[entries], model._rated.codes[entries]


def make_rated(model, items, z, *columns):
    """Return [Rated] of item rows (n,), their ratings z (n,) and the other columns (n,)."""
    columns = model.item_ids_[items], as_read(z, model._scale), *columns
    return [Rated(*row) for row in zip(*(column.tolist() for column in columns))]


def largest_first(rated):
    """Return (Rated, ...) by falling size of the share."""
    return tuple(sorted(rated, key=lambda rating: -abs(rating.share)))


def neighbours(model, item_row, base, items, codes):
    """Return ([Rated], the share of unrated neighbours, their number) of an item.

    base: baseline bias of the user; items, codes (n,): ratings of the user.
    """
    state, scale = model._state, model._scale
    if item_row == len(state.neighbors):
        return [], 0.0, 0
    near, (w, c) = state.neighbors[item_row], state.influence[item_row]
    is_rated = np.isin(near, items)
    rated, n_unrated = near[is_rated], int((~is_rated).sum())
    z = model._rated.levels[codes[np.searchsorted(items, rated)]].astype(np.float64)
    expected = base + state.item_extras[rated, BASE].astype(np.float64)
    weights = w[is_rated] / np.sqrt(max(len(rated), 1))
    columns = expected * scale.deviation + scale.mean, weights, (z - expected) * weights * scale.deviation
    silent = float(c[~is_rated].astype(np.float64).sum()) / np.sqrt(max(n_unrated, 1))
    return make_rated(model, rated, z, *columns), float(silent * scale.deviation), n_unrated


def explain(model, pair, rows, by):
    """Return the Explanation of a fitted model's score for (user, item).

    pair: (user, item) ids; rows: theirs, behind the last for unknown ids; by: 'lists' or 'rating'.
    """
    counts = (int(numbers[0]) for numbers in model.evidence(*([value] for value in pair), unknown="zero"))
    sides = model.user_ids_, model.item_ids_
    known = [row < len(ids) for row, ids in zip(rows, sides)]
    ids = (ids[row].item() if is_known else value for ids, row, is_known, value in zip(sides, rows, known, pair))
    terms_of = list_terms if by == "lists" else rating_terms
    return Explanation(*ids, *terms_of(model, *rows), *known, *counts, by)


def rating_terms(model, user_row, item_row):
    """Return the fields prediction to n_unrated of a predicted rating's Explanation."""
    scale, state = model._scale, model._state
    u, of_user = row_of(state.user_factors, state.user_extras, user_row)
    v, of_item = row_of(state.item_factors, state.item_extras, item_row)
    items, codes = ratings_of(model, user_row)
    rated, unrated, n_unrated = neighbours(model, item_row, of_user[BASE], items, codes)
    rated = largest_first(with_item_weights(rated, model, items, item_row))
    parts = float(scale.mean), *(float(part * scale.deviation) for part in (of_user[BIAS], of_item[BIAS], u @ v))
    total = sum(parts) + sum(rating.share for rating in rated) + unrated
    prediction = float(np.clip(np.float32(total), np.float32(scale.low), np.float32(scale.high)))
    return prediction, total, *parts, rated, unrated, n_unrated


def with_item_weights(rated, model, clicked, item_row):
    """Return [Rated] with the weights of the user's clicked items added.

    Clicks have no expected value, so that the weights of an item in both are added. rated: those of `neighbours`;
    clicked (n,): item rows of the user.
    """
    from gpukit.factorization.model.state import weights_matrix

    weights = weights_matrix(model._state)
    if weights is None or item_row == len(model.item_ids_):
        return rated
    column = weights[clicked[:, None], np.array([[item_row]])].sum(axis=1)
    result = {rating.item: rating for rating in rated}
    for item, weight in zip(model.item_ids_[clicked].tolist(), column.tolist()):
        other = result.get(item, Rated(item, 1.0, 0.0, 0.0, 0.0))
        result[item] = other._replace(weight=other.weight + weight, share=other.share + weight)
    return result.values()


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
    """Return (Rated, ...) of a user's ratings for an item's list score, the largest share first.

    There is no expected rating.
    """
    from gpukit.factorization.lists.head import weights_of

    items, codes = ratings_of(model, user_row)
    z = model._rated.levels[codes]
    factors, weights = head.item_factors[items].astype(np.float64), weights_of(z).astype(np.float64)
    decay, unobserved, exponent = map(float, head.numbers)
    ridge = decays_of([len(items)], len(head.item_factors), decay, unobserved, exponent)
    matrix = unobserved * model._prepare("gram", lambda: gram_of(head.item_factors)) + (factors.T * weights) @ factors
    matrix += float(ridge[0]) * np.eye(factors.shape[1])
    shares = weights * (factors @ np.linalg.solve(matrix, head.item_factors[item_row]))
    return largest_first(make_rated(model, items, z, np.full(len(items), None), weights, shares))


def as_read(z, scale):
    """Return ratings (n,) in their own units, rounded to 6 digits.

    So they are as they were read, except for float32 rounding.
    """
    return np.array([float(f"{float(value) * scale.deviation + scale.mean:.6g}") for value in z])
