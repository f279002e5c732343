"""Retrain a model from scratch when an update no longer suits its settings or its factors.

The settings of a training (level, damping, factors, epochs, regularization) are chosen for one number of ratings and
stay with the model. FilmTrust in 20 parts, with settings chosen on the first 1,600 ratings, ended 0.026 above a
training on all 32,000. Retraining whenever the ratings have doubled costs at most about twice the last training.

With few ratings a choice holds for less growth: on a quarter more ratings, damped biases may no longer win and
neighbours may start to help. Such a training takes about a second, including the choice of settings. It replaces the
epochs over the whole history, which would take a tenth of that.

Drift: factors of few ratings overfit. On later ratings the model is more accurate if the contribution of factors and
influences is multiplied by a share below 1, the slope of a regression line through 0. The new ratings may come from few
users with an unusual taste. All rows shrink by the share, and the few epochs of an update do not recover the loss. A
low share therefore calls for retraining.
"""

import copy

import numpy as np

from gpukit.factorization.choose.rule import FEW
from gpukit.factorization.model.layout import BIAS
from gpukit.factorization.online import plan
from gpukit.factorization.online.plan import has_grown

LEAST_SHARE = 0.7  # smallest share of an update: below it retraining has the lower error (MovieLens 1M)


def is_due(model, n_changed, options):
    """Return True if the number of new and corrected ratings and plan.Options call for retraining."""
    growth = 2.0  # growth since the settings were chosen that calls for retraining, above FEW ratings
    if not options.may_retrain:
        return False
    known = len(model._rated.items)
    now, then = known + n_changed, plan.count_when_chosen(getattr(model, "updates_", []), known)
    return has_grown(then, now) if now <= FEW else now >= growth * then


def retrain_model(model, ratings, n_corrected, progress):
    """Return a copy of a fitted model, trained on merged Ratings, with the entry in updates_. Raises as fit does."""
    fitted = copy.copy(model).fit(ratings, progress=progress)
    if len(model.seen_pairs()):  # rows keep their numbers
        fitted._seen = np.unique(np.concatenate((model.seen_pairs(), fitted.seen_pairs())), axis=0)
    n_new, walked = len(ratings) - len(model._rated.items), len(ratings) * fitted.chosen_["n_epochs"]
    new_rows = count_new_rows(model._rated, ratings)
    log = (n_new, n_corrected), new_rows, plan.RETRAINED, walked, len(ratings), dict(fitted.timings_)
    fitted.updates_ = [*getattr(model, "updates_", []), plan.new_entry(*log)]
    return fitted


def replace_model(model, fitted):
    """Replace all attributes of a model by those of a fitted one; cached heads belong to other rows."""
    vars(model).update(vars(fitted))
    for name in vars(model).keys() - vars(fitted).keys():
        delattr(model, name)
    return model


def count_new_rows(history, ratings):
    """Count the users and items of Ratings that have none in a History."""
    before = np.diff(history.indptr), np.bincount(history.items, minlength=1)
    now = (np.bincount(rows, minlength=n) for rows, n in zip((ratings.users, ratings.items), ratings.shape))
    return [int(np.count_nonzero(mine) - np.count_nonzero(theirs)) for mine, theirs in zip(now, before)]


def fit_share(state, parameters, pairs, values):
    """Return the slope, from 0 to 1, of z - biases over the other terms that a DeviceState predicts.

    parameters: its State; pairs: (users, items) (n,) int32, rows with earlier ratings; values (n,) float32: new ratings
    of these pairs, not in the history yet.
    """
    prior_variance = 0.25  # prior variance of the slope around 1
    users, items = pairs
    scale, biases = state.ratings.scale, parameters.user_extras[users, BIAS] + parameters.item_extras[items, BIAS]
    added = predict_pairs(state, pairs).astype(np.float64) - biases
    residual = (values - scale.mean) / scale.deviation - biases
    noise = float(np.mean((residual - added) ** 2)) if len(users) else 1.0
    prior = noise / prior_variance
    return float(np.clip((added @ residual + prior) / (added @ added + prior), 0.0, 1.0))


def predict_pairs(state, pairs):
    """Predict pairs of rows by a DeviceState: (n,) float32 on the host, in z."""
    session = state.session()
    return session.predict(session.ask(*pairs)) if len(pairs[0]) else np.empty(0, np.float32)
