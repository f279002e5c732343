"""Who judges: a click of each user that training does not see."""

from typing import NamedTuple

import numpy as np

from gpukit.factorization.implicit.weights import places_from_last, tell_order
from gpukit.streams import Numpy

LEAST = 3  # clicks of a user one of which may be held out
JUDGES, FEW = 4000, 20  # users that judge, at most and at least
SAMPLE = 250_000  # clicks on which many candidates are tried: of whole users


class Judges(NamedTuple):
    """user rows (b,) int32 and, of each, the item row (b,) int32 that was held out; whether it is the last by time."""

    users: np.ndarray
    items: np.ndarray
    latest: bool


def held_out(clicks, seed):
    """(the other clicks, Judges) of Ratings: of users with LEAST clicks or more the last one, or where times do not
    tell one at random; JUDGES of these users, drawn at random."""
    rng, latest = np.random.default_rng([seed, Numpy.CLICK_JUDGES[0]]), tell_order(clicks)
    if latest:
        first = places_from_last(clicks) == 0
        places = np.flatnonzero(first)
    else:
        order = rng.permutation(len(clicks))
        _, where = np.unique(clicks.users[order], return_index=True)
        places = order[where]
    of_users, of_items = (np.bincount(rows, minlength=n) for rows, n in zip((clicks.users, clicks.items), clicks.shape))
    fit = (of_users[clicks.users[places]] >= LEAST) & (of_items[clicks.items[places]] > 1)  # else nobody could find it
    places = np.sort(rng.permutation(places[fit])[:JUDGES])
    kept = np.ones(len(clicks), np.bool_)
    kept[places] = False
    return clicks.take(kept), Judges(clicks.users[places], clicks.items[places], latest)


def sampled(clicks, judges, seed, most=SAMPLE):
    """(clicks, Judges) of as many whole users as have about `most` clicks, drawn at random; all where these do."""
    if len(clicks) <= most:
        return clicks, judges
    users = some_users(len(clicks), clicks.shape[0], seed, most)
    chosen = users[judges.users]
    return clicks.take(users[clicks.users]), Judges(judges.users[chosen], judges.items[chosen], judges.latest)


def some_users(n_clicks, n_users, seed, most=SAMPLE):
    """(M,) bool: users drawn at random that have about `most` of the clicks; all where there are no more."""
    if n_clicks <= most:
        return np.ones(n_users, np.bool_)
    return np.random.default_rng([seed, Numpy.CLICK_JUDGES[1]]).random(n_users) < most / n_clicks
