"""A predicted rating as the sum of the terms of Eq. (1), in rating units."""

from typing import Any, NamedTuple

import numpy as np

from gpukit.factorization.model.layout import BASE, BIAS


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


def codes_of(near, items, codes):
    """Return the codes (K,) uint8 of item rows near (K,) in a user's ratings, sorted by item; 0 for unrated."""
    if not len(items):
        return np.zeros(len(near), np.uint8)
    places = np.minimum(np.searchsorted(items, near), len(items) - 1)
    return np.where(items[places] == near, codes[places], np.uint8(0))


def neighbours(model, item_row, base, items, codes):
    """Return ((Rated, ...), the share of unrated neighbours, their number) of an item.

    base: baseline bias of the user; items, codes (n,): ratings of the user. The largest share is first.
    """
    state, scale, levels = model._state, model._scale, model._rated.levels
    is_known = item_row < len(state.neighbors)
    near = state.neighbors[item_row] if is_known else np.zeros(0, int)
    w, c = state.influence[item_row] if is_known else np.zeros((2, 0))
    codes = codes_of(near, items, codes)
    is_rated = codes > 0
    n_rated, n_unrated = int(is_rated.sum()), int((~is_rated).sum())
    z = levels[codes].astype(np.float64)
    expected = base + state.item_extras[near, BASE].astype(np.float64)
    weights = w / np.sqrt(max(n_rated, 1))
    result = []
    for k in np.flatnonzero(is_rated):
        usual, rating = float(expected[k]) * scale.deviation + scale.mean, float(as_read(z[k : k + 1], scale)[0])
        share = float((z[k] - expected[k]) * weights[k]) * scale.deviation
        result.append(Rated(model.item_ids_[near[k]].item(), rating, usual, float(weights[k]), share))
    result.sort(key=lambda neighbour: -abs(neighbour.share))
    silent = float(c[~is_rated].astype(np.float64).sum()) / np.sqrt(max(n_unrated, 1))
    return tuple(result), float(silent * scale.deviation), n_unrated


def explain(model, pair, user_row, item_row, by, terms_of):
    """Return the Explanation of a fitted model's score for (user, item).

    pair: (user, item) ids; user_row, item_row: the row behind the last for unknown ids; by: 'lists' or 'rating';
    terms_of: rating_terms, or list_shares.list_terms.
    """
    counts = (int(numbers[0]) for numbers in model.evidence(*([value] for value in pair), unknown="zero"))
    known = user_row < len(model.user_ids_), item_row < len(model.item_ids_)
    names = (model.user_ids_, user_row), (model.item_ids_, item_row)
    ids = (ids[row].item() if is_known else value for (ids, row), is_known, value in zip(names, known, pair))
    return Explanation(*ids, *terms_of(model, user_row, item_row), *known, *counts, by)


def rating_terms(model, user_row, item_row):
    """Return the fields prediction to n_unrated of a predicted rating's Explanation."""
    history, scale, state = model._rated, model._scale, model._state
    u, of_user = row_of(state.user_factors, state.user_extras, user_row)
    v, of_item = row_of(state.item_factors, state.item_extras, item_row)
    entries = slice(*history.indptr[user_row : user_row + 2])
    items = history.items[entries]
    rated, unrated, n_unrated = neighbours(model, item_row, of_user[BASE], items, history.codes[entries])
    rated = with_item_weights(rated, model, items, item_row)
    parts = float(scale.mean), *(float(part * scale.deviation) for part in (of_user[BIAS], of_item[BIAS], u @ v))
    total = sum(parts) + sum(rating.share for rating in rated) + unrated
    prediction = float(np.clip(np.float32(total), np.float32(scale.low), np.float32(scale.high)))
    return prediction, total, *parts, rated, unrated, n_unrated


def with_item_weights(rated, model, clicked, item_row):
    """Return (Rated, ...) with the weights of the user's clicked items added, the largest share first.

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
    return tuple(sorted(result.values(), key=lambda rating: -abs(rating.share)))


def as_read(z, scale):
    """Return ratings (n,) in their own units, rounded to 6 digits.

    So they are as they were read, except for float32 rounding.
    """
    return np.array([float(f"{float(value) * scale.deviation + scale.mean:.6g}") for value in z])
