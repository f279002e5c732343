"""Held-out clicks and what lists are worth, by plain loops in float64."""

from math import log2


def latest(users, times, share):
    """The numbers of clicks among the latest `share` of their user's, rounded."""
    found = set()
    for user in set(users):
        own = sorted((times[k], k) for k in range(len(users)) if users[k] == user)
        found |= {k for _, k in own[len(own) - int(share * len(own) + 0.5) :]}
    return found


def ndcg(items, held_out, k):
    """NDCG of a user's first k items, by the items that were held out."""
    gain = sum(1 / log2(place + 2) for place, item in enumerate(items[:k]) if item in held_out)
    return gain / sum(1 / log2(place + 2) for place in range(min(k, len(held_out))))
