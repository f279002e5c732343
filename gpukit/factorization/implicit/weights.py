"""Training weights of clicks, by their counts and times.

The weight is 1, more for frequent clicks and for a user's latest ones.
"""

import numpy as np

from gpukit.factorization.constants import RULES


def weigh_clicks(clicks, settings):
    """Return clicks as Ratings whose values are their weights by settings.Settings.

    counted: 1 + log(count); recency a: multiplied by 1 + a exp(-k / 10) for the k-th last click of a user.
    """
    weights = np.ones(len(clicks), np.float32)
    if settings.counted and clicks.counts is not None:
        weights += np.log(np.maximum(clicks.counts, 1)).astype(np.float32)
    if settings.recency and clicks.times is not None:
        weights *= (1.0 + settings.recency * np.exp(-places_from_last(clicks) / RULES.recent_clicks)).astype(np.float32)
    columns = {name: getattr(clicks, name) for name in ("users", "items")}
    return clicks.with_columns(**columns, values=weights)


def places_from_last(clicks):
    """Return (n,) int64: number of later clicks of the same user.

    Equal times count in their order in the data.
    """
    rank, size = clicks.ranks_in_time("user-time")
    return size - 1 - rank


def times_differ(clicks):
    """Return True if times order most clicks of the users."""
    if clicks.times is None:
        return False
    order = np.lexsort((clicks.times, clicks.users))
    users, times = clicks.users[order], clicks.times[order]
    pairs = users[1:] == users[:-1]
    return bool(pairs.any() and (times[1:] > times[:-1])[pairs].mean() > 0.5)
