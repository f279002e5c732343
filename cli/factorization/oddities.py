"""What ratings may be instead of ratings, in a few words behind the line that says what was read."""

import numpy as np

EARLIEST = 1e8  # seconds: numbers that all are larger are times from 1973 on, or of milliseconds
LOOKED_AT = 100_000  # ratings that say which values there are
APART = 2  # by so many of the others' largest step a value is apart from them; or a zero is so many times as frequent
OFTEN = 0.001  # of the ratings, what is apart; the largest of many numbers comes once


def alike(ask, ratings):
    """Why ratings that nobody called clicks are some, where that may surprise."""
    low, high = ratings.scale
    if ask.feedback != "auto" or ask.positive_from is not None or low < high or low == 1:
        return ""
    return f" (every rating is {low:g}; --feedback explicit takes them as ratings)"


def unlike_ratings(ask, ratings):
    """What ratings that nobody called so may be instead, where their numbers look like it."""
    low, high = ratings.scale
    if ask.feedback != "auto":
        return ""
    if low >= EARLIEST:
        return " (these look like times: --columns user,item,timestamp takes the pairs as clicks)"
    if high == 1 and low in (0, -1) and bool(((ratings.values == low) | (ratings.values == high)).all()):
        return f" ({low:g} and 1 alone: if 1 is a click, --positive-from 1 learns lists)"
    return no_rating(ratings.values)


def no_rating(values):
    """What to say of a value that looks like the sign of a pair without a rating; values (n,): ratings."""
    few = len(values) <= LOOKED_AT
    sign = sign_of_none(values if few else values[np.random.default_rng(0).integers(0, len(values), LOOKED_AT)])
    if sign is None:
        return ""
    return (
        f" ({np.mean(values == sign):.1%} of them are {sign:g}, apart from the others: if that means that there is no "
        "rating, leave these lines out)"
    )


def sign_of_none(values):
    """The value among some ratings (n,) that probably means none: -1 beside 1 to 10, 99 beside -10 to 10, or a 0
    beside 1 to 10 that is more frequent than each of them. None where there is none such, or few values.
    """
    found, counts = np.unique(values, return_counts=True)
    if len(found) < 4:
        return None
    steps, often = np.diff(found), np.maximum(2, OFTEN * len(values))
    if counts[0] >= often and steps[0] >= APART * steps[1:].max():
        return found[0]
    if counts[-1] >= often and steps[-1] >= APART * steps[:-1].max():
        return found[-1]
    return found[0] if found[0] == 0 and found[1] >= 0.5 and counts[0] >= APART * counts[1:].max() else None
