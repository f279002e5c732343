"""Remarks on values that may not be ratings."""

import numpy as np

EARLIEST = 1e8  # seconds: numbers that all are larger are times from 1973 on, or of milliseconds
LOOKED_AT = 100_000  # ratings in the sample
APART = 2  # an outlier's distance in largest steps of the others; also a zero's frequency relative to the others
OFTEN = 0.001  # least fraction of an outlier: the largest of many numbers occurs once


def alike(ask, ratings):
    """Return the reason why ratings are read as clicks, or ''."""
    low, high = ratings.scale
    if ask.feedback != "auto" or ask.positive_from is not None or low < high or low == 1:
        return ""
    return f" (every rating is {low:g}; --feedback explicit takes them as ratings)"


def unlike_ratings(ask, ratings):
    """Return a remark on ratings that look like times or clicks, or ''."""
    low, high = ratings.scale
    if ask.feedback != "auto":
        return ""
    if low >= EARLIEST:
        return " (these look like times: --columns user,item,timestamp takes the pairs as clicks)"
    if high == 1 and low in (0, -1) and bool(((ratings.values == low) | (ratings.values == high)).all()):
        return f" ({low:g} and 1 alone: if 1 is a click, --positive-from 1 learns lists)"
    return no_rating(ratings.values)


def no_rating(values):
    """Return a remark on a value that looks like a missing rating.

    values (n,): ratings. The text is empty without such a value.
    """
    few = len(values) <= LOOKED_AT
    sign = sign_of_none(values if few else values[np.random.default_rng(0).integers(0, len(values), LOOKED_AT)])
    if sign is None:
        return ""
    return (
        f" ({np.mean(values == sign):.1%} of them are {sign:g}, apart from the others: if that means that there is no "
        "rating, leave these lines out)"
    )


def sign_of_none(values):
    """Return the value of ratings (n,) that probably means no rating, or None.

    Examples are -1 with 1 to 10, 99 with -10 to 10, and 0 with 1 to 10 if it is the most frequent value.
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
