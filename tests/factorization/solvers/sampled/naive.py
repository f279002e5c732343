"""Oracle of learning from clicks by Eq. (5), in plain loops.

An epoch has a click and its negatives as examples. The model is that of factorization/naive.py with r = 1 for a click
and baselines of 0, so that its Eq. (1) is the score.
"""

import copy

import numpy as np
from naive_random import long_bits

from factorization.naive import predict, step

TRIES, NOBODY = 16, -1


def drawn(key, number, attempt, n):
    """Return item `attempt` sampled for a negative, of n."""
    return long_bits(key + attempt & 0xFFFFFFFF, number) * n >> 32


def negative(key, number, n, clicked, last):
    """Return the first of TRIES sampled items that is neither clicked nor `last`."""
    for attempt in range(TRIES):
        item = drawn(key, number, attempt, n)
        if item not in clicked and item != last:
            return item
    return NOBODY


def examples(walked, clicked, n, key, negatives, pairwise):
    """Return [(i, j, place)] of clicks [(t, i, j)] in order.

    t: position of the click; clicked[i]: i's items. place 0 is the click, 1 and more are its negatives, -1 is the click
    again.
    """
    found, last = [], NOBODY
    for t, i, j in walked:
        found.append((i, j, 0))
        last = j
        for s in range(negatives):
            last = negative(key, t * negatives + s, n, clicked[i], last)
            if last != NOBODY:
                found.append((i, last, s + 1))
        if pairwise:
            found.append((i, j, -1))
    return found


def sigmoid(m, x):
    """1 / (1 + e^-x)."""
    return m.dtype(1) / (m.dtype(1) + np.exp(-x))


def epoch(m, visits, rates, pairwise):
    """Return the Model after Eq. (5) for each example of visits; m is unchanged."""
    m = copy.deepcopy(m)
    m.half = ""
    for i, j, place in visits:
        x = predict(m, i, j)
        if place == 0:
            click, owed = x, m.dtype(0)
            if not pairwise:
                step(m, i, j, m.dtype(1) - sigmoid(m, x), rates)
        elif place == -1:
            step(m, i, j, owed, rates)
        else:
            e = -sigmoid(m, x - click if pairwise else x)
            owed -= e
            step(m, i, j, e, rates)
    return m
