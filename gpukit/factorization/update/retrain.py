"""When an update is no longer worth its settings: a model that has outgrown them is trained anew on all that has come.

What is chosen for a training (its level and dampings, factors, epochs, regularization) is chosen for so many ratings,
and stays with the model. FilmTrust in 20 parts, its settings chosen on the first 1,600 ratings, ended 0.026 above a
training on all 32,000. Trained anew each time the ratings have doubled, a model that grows costs at most about as much
again as its last training.

Of few ratings a choice holds for less: on a quarter more of them damped biases may no longer win, neighbours may begin
to help. There a training takes about a second, its choice included, and takes the place of every walk over the whole
history, which would take a tenth of that.

So does a training where new ratings tell that the model does not hold for them (drift.py).
"""

import copy

import numpy as np

from gpukit.factorization.choose.rule import FEW
from gpukit.factorization.update import merge, update_log
from gpukit.factorization.update.plan import has_grown

TIMES = 2.0  # as many ratings as there were when the settings were chosen, where these are more than FEW


def is_due(model, part, settings):
    """Whether a fitted model of ratings that takes inputs.NewRatings is to be trained anew; settings: settings.Settings
    of the update, whose rows and neighbours have to be free to move, and what is walked left open."""
    if model.feedback_ == "implicit" or not is_free(settings):
        return False
    known = len(model._rated.items)
    now, then = known + len(part), update_log.chosen_on(getattr(model, "updates_", []), known)
    return has_grown(then, now) if now <= FEW else now >= TIMES * then


def is_free(settings):
    """Whether settings.Settings of an update let rows and neighbours move, and leave open what is walked."""
    return settings == settings._replace(rows="move", hashes="recount", replay=None)


def trained_anew(model, part, settings, progress):
    """A model like a fitted one, trained on its history and inputs.NewRatings; its updates_ go on, and say so.

    Raises as fit does, and DataError for a known pair where duplicates='error'.
    """
    merged = merge.merged(model._rated, model._scale, part, settings.duplicates)
    fitted = copy.copy(model).fit(merged.ratings, progress=progress)
    users, items = new_rows(model._rated, merged.ratings)
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


def taken_over(model, fitted):
    """A model, with all that a fitted one has and nothing that it has not: heads and what else was kept are of other
    rows."""
    vars(model).update(vars(fitted))
    for name in vars(model).keys() - vars(fitted).keys():
        delattr(model, name)
    return model


def new_rows(history, ratings):
    """[users, items]: how many have Ratings, of those without any in a History."""
    before = np.diff(history.indptr), np.bincount(history.items, minlength=1)
    counts = zip(merge.counts_of(ratings), before)
    return [int(np.count_nonzero(now) - np.count_nonzero(was)) for now, was in counts]
