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


def share(model, merged, fresh, trainer):
    """Return the slope, from 0 to 1, of z - biases over the other terms that a run.Model predicts.

    It is estimated on the new ratings of a Merged in rows that had ratings; fresh: ((M,), (N,)) bool of rows without.
    """
    ratings, (users, items) = merged.ratings, fresh
    at = np.flatnonzero(merged.new)
    at = at[~(users[ratings.users[at]] | items[ratings.items[at]])]
    pairs, scale, state = (ratings.users[at], ratings.items[at]), model.scale, model.state
    biases = state.user_extras[pairs[0], BIAS] + state.item_extras[pairs[1], BIAS]
    added = predicted(model, pairs, trainer).astype(np.float64) - biases
    left = (ratings.values[at] - scale.mean) / scale.deviation - biases
    noise = float(np.mean((left - added) ** 2)) if len(at) else 1.0
    prior = noise / SURE
    return float(np.clip((added @ left + prior) / (added @ added + prior), 0.0, 1.0))


def predicted(model, pairs, trainer):
    """Predict pairs of rows by a run.Model: (n,) float32, in z."""
    state, steps = model.state, trainer.steps
    layout = steps.layout(state.user_factors.shape[1], state.neighbors.shape[1])
    session = steps.Session(state, layout, trainer.walk, model.history)
    return session.predict(session.ask(*pairs)) if len(pairs[0]) else np.empty(0, np.float32)
