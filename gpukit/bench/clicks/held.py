"""Settings of least squares, chosen by where held-out clicks stand among all items.

The criterion is the geometric mean of their ranks. Each halving of a rank has the same weight, wherever in the list, so
all clicks contribute. NDCG depends little on ranks beyond the first dozens, which decide most comparisons of one click
with a hundred items; its standard deviation over draws exceeds the difference of neighbouring settings (docs/lists.md).
"""

import numpy as np

from gpukit.factorization.implicit.hold_out import Judges
from gpukit.factorization.implicit.prepared import Course, PreparedClicks
from gpukit.factorization.implicit.weights import times_differ
from gpukit.factorization.settings import check

DRAWS = 3  # of a held-out click a user, each with a seed of its own
TILE = 1024  # users scored at once


def choose(learner, clicks, device, tried):
    """Return (the best of `tried` with its n_epochs, the geometric mean of its ranks in DRAWS draws).

    learner: function of a seed that returns an estimator, whose n_epochs is the maximum; clicks: Ratings whose values
    are 1; tried: dicts of fields of settings.Settings.
    """
    logs = []
    for draw in range(DRAWS):
        train, judges = one_held_out(clicks, draw)
        model = learner(draw)
        plan, prepared = check(model, len(train), "implicit"), PreparedClicks(model, train, device)
        logs.append([curve(prepared, judges, plan._replace(**named)) for named in tried])
    means = np.exp(np.mean(logs, axis=0))
    place, point = np.unravel_index(means.argmin(), means.shape)
    return {**tried[place], "n_epochs": 2 * int(point) + 2}, float(means.min())


def one_held_out(clicks, seed):
    """Return (the other clicks, Judges) of a click of each user with two or more: the last, or one drawn at random."""
    train, test = clicks.split(seed=seed, by="user-last" if times_differ(clicks) else "user-one")
    return train, Judges(test.users, test.items, times_differ(clicks))


def curve(prepared, judges, plan):
    """Means of the logarithms of the held-out clicks' ranks after every second epoch of settings.Settings."""
    course, found = Course(prepared, plan), []
    session, training = course.begin(course.first(prepared.neighbors(plan)))
    for epoch in range(plan.epochs):
        training.epoch(epoch)
        if epoch % 2:
            found.append(float(np.log(ranks(session.state(), prepared.clicks, judges)).mean()))
    return found


def ranks(state, clicks, judges):
    """(b,) int64: the ranks, from 1, of hold_out.Judges' clicks by the factors of a State, among the items that are not
    in their users' clicks, Ratings."""
    from scipy import sparse

    one = np.ones(len(clicks), np.bool_)
    known, found = sparse.csr_matrix((one, (clicks.users, clicks.items)), clicks.shape), []
    for first in range(0, len(judges.users), TILE):
        users, items = (rows[first : first + TILE] for rows in (judges.users, judges.items))
        scores = state.user_factors[users] @ state.item_factors.T
        held = scores[np.arange(len(users)), items][:, None]
        scores[known[users].nonzero()] = -np.inf
        found.append(1 + (~(scores <= held)).sum(axis=1))  # what is no number comes last
    return np.concatenate(found)
