"""Retrain a model from scratch when an update no longer suits its settings.

The settings of a training (level, damping, factors, epochs, regularization) are chosen for one number of ratings and
stay with the model. FilmTrust in 20 parts, with settings chosen on the first 1,600 ratings, ended 0.026 above a
training on all 32,000. Retraining whenever the ratings have doubled costs at most about twice the last training.

With few ratings a choice holds for less growth: on a quarter more ratings, damped biases may no longer win and
neighbours may start to help. Such a training takes about a second, including the choice of settings. It replaces the
epochs over the whole history, which would take a tenth of that.

A model is also retrained when it does not fit the new ratings (drift.py).
"""

import copy

import numpy as np

from gpukit.factorization.choose.rule import FEW
from gpukit.factorization.update import merge, update_log
from gpukit.factorization.update.plan import has_grown

TIMES = 2.0  # growth since the settings were chosen that calls for retraining, above FEW ratings


def is_due(model, part, settings):
    """Return True if inputs.NewRatings and settings.Settings call for retraining."""
    if model.feedback_ == "implicit" or not is_free(settings):
        return False
    known = len(model._rated.items)
    now, then = known + len(part), update_log.count_when_chosen(getattr(model, "updates_", []), known)
    return has_grown(then, now) if now <= FEW else now >= TIMES * then


def is_free(settings):
    """Return True if settings.Settings let rows and neighbours change and leave replay open."""
    return settings == settings._replace(rows="move", hashes="recount", replay=None)


def retrain_model(model, part, settings, progress):
    """Return a copy of a fitted model, trained on its history and inputs.NewRatings, with the entry in updates_.

    Raises as fit does, and DataError for a known pair if duplicates='error'.
    """
    merged = merge.merged(model._rated, model._scale, part, settings.duplicates)
    fitted = copy.copy(model).fit(merged.ratings, progress=progress)
    users, items = count_new_rows(model._rated, merged.ratings)
    if len(model.seen_pairs()):  # rows keep their numbers
        fitted._seen = np.unique(np.concatenate((model.seen_pairs(), fitted.seen_pairs())), axis=0)
    entry = {
        "ratings": len(part) - merged.corrected,
        "corrected": merged.corrected,
        "users": users,
        "items": items,
        "rows": update_log.ANEW,
        "walked": len(merged.ratings) * fitted.chosen_["n_epochs"],
        "settled": len(merged.ratings),
        "seconds": dict(fitted.timings_),
    }
    fitted.updates_ = [*getattr(model, "updates_", []), entry]
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
    counts = zip(merge.counts_of(ratings), before)
    return [int(np.count_nonzero(now) - np.count_nonzero(was)) for now, was in counts]
