"""Fit of a model to new ratings, before it learns them.

Factors of few ratings overfit. On later ratings the model is more accurate if the contribution of factors and
influences is multiplied by a share below 1. That share is the slope of a regression line through 0.

The new ratings may come from few users with an unusual taste. All rows shrink by the share, and the few epochs of an
update do not recover the loss. A low share therefore calls for retraining.
"""

import numpy as np

from gpukit.factorization.model.layout import BIAS

SURE = 0.25  # prior variance of the slope around 1
LEAST = 0.7  # smallest share of an update: below it retraining has the lower error (MovieLens 1M)


def fit_share(model, merged, fresh, trainer):
    """Return the slope, from 0 to 1, of z - biases over the other terms that a run.Model predicts.

    It is estimated on the new ratings of a MergedHistory in rows with earlier ratings; fresh: ((M,), (N,)) bool of the
    other rows.
    """
    ratings, (users, items) = merged.ratings, fresh
    places = np.flatnonzero(merged.new)
    places = places[~(users[ratings.users[places]] | items[ratings.items[places]])]
    pairs, scale, state = (ratings.users[places], ratings.items[places]), model.scale, model.state
    biases = state.user_extras[pairs[0], BIAS] + state.item_extras[pairs[1], BIAS]
    added = predict_pairs(model, pairs, trainer).astype(np.float64) - biases
    residual = (ratings.values[places] - scale.mean) / scale.deviation - biases
    noise = float(np.mean((residual - added) ** 2)) if len(places) else 1.0
    prior = noise / SURE
    return float(np.clip((added @ residual + prior) / (added @ added + prior), 0.0, 1.0))


def predict_pairs(model, pairs, trainer):
    """Predict pairs of rows by a run.Model: (n,) float32, in z."""
    state, steps = model.state, trainer.steps
    layout = steps.layout(state.user_factors.shape[1], state.neighbors.shape[1])
    session = steps.DeviceModel(state, layout, trainer.walk, model.history)
    return session.predict(session.ask(*pairs)) if len(pairs[0]) else np.empty(0, np.float32)
