"""Plain loops over users, in float64."""

from math import sqrt


def paired(ours, theirs):
    """(mean difference, its standard error) of scores of the same users."""
    differences = [float(a) - float(b) for a, b in zip(ours, theirs)]
    mean = sum(differences) / len(differences)
    variance = sum((one - mean) ** 2 for one in differences) / (len(differences) - 1)
    return mean, sqrt(variance / len(differences))


def ratio(ours, theirs, weights):
    """(difference of weighted means, its standard error by the delta method) of scores of the same units."""
    total = sum(weights)
    mean = sum(w * (a - b) for w, a, b in zip(weights, ours, theirs)) / total
    count = sum(1 for w in weights if w)
    squares = sum((w * (a - b - mean)) ** 2 for w, a, b in zip(weights, ours, theirs))
    return mean, sqrt(squares * count / (count - 1)) / total


def first_users(users, keys, limit, least):
    """The users with pairs, in the order of their keys, up to `limit` pairs or to the number `least`."""
    chosen, total = [], 0
    for user in sorted(set(users), key=lambda user: keys[user]):
        total += users.count(user)
        if total > limit and len(chosen) >= least:
            break
        chosen.append(user)
    return chosen
