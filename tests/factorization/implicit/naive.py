"""Oracle of held-out clicks and list metrics, by plain loops in float64."""

from math import log2


def latest(users, times, share):
    """Return the indices of the latest `share` of each user's clicks, rounded."""
    found = set()
    for user in set(users):
        own = sorted((times[k], k) for k in range(len(users)) if users[k] == user)
        found |= {k for _, k in own[len(own) - int(share * len(own) + 0.5) :]}
    return found


def ndcg(items, held_out, k):
    """Return NDCG of a user's first k items for the held-out items."""
    gain = sum(1 / log2(place + 2) for place, item in enumerate(items[:k]) if item in held_out)
    return gain / sum(1 / log2(place + 2) for place in range(min(k, len(held_out))))
