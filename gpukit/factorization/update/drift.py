"""How far what a model has learned holds for ratings that it has not seen: those that come, before it learns them.

Factors of few ratings fit these too well: on ratings that come later the model does better when all that factors and
influences add to the biases is times a share below 1. That share is the slope of a line through 0.

The new ratings may be of few users, whose taste is not the others': what all rows forget then is not learned again by
the few epochs of an update, so that little of it means a training anew.
"""

import numpy as np

from gpukit.factorization.model.layout import BIAS

SURE = 0.25  # variance of the slope around 1, as long as no ratings tell
LEAST = 0.7  # share that an update may forget down to: with less it ends above a training anew (MovieLens 1M)


def share(model, merged, fresh, trainer):
    """The slope, from 0 to 1, of z - biases over what else a run.Model predicts, on those ratings of a Merged that are
    new, of rows that had ratings before; fresh: ((M,), (N,)) bool of rows that had none."""
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
    """(n,) float32 predictions in z of pairs of rows by a run.Model."""
    state, steps = model.state, trainer.steps
    layout = steps.layout(state.user_factors.shape[1], state.neighbors.shape[1])
    session = steps.Session(state, layout, trainer.walk, model.history)
    return session.predict(session.ask(*pairs)) if len(pairs[0]) else np.empty(0, np.float32)
