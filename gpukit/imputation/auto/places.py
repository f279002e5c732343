"""Kinds of missing values, by how far what is observed is: what errs alike is judged and mixed together."""

import numpy as np

STEPS = (1, 2, 4, 8, 16, 32)  # columns to the nearest observed value of a vertex
NEVER, ALWAYS = 0, 1  # a vertex of which nothing is observed; columns that have no order
KINDS = 2 + len(STEPS) + 1
GROUPS = np.array([0, 2, 1, 1] + [2] * (KINDS - 4))  # of kinds: hidden whole, beside an observed value, and others


def kinds(problem):
    """(N, T) int8 of all entries, those observed too: NEVER, ALWAYS, or 2 and more by the distance in columns."""
    out = np.full(problem.seen.shape, ALWAYS, np.int8)
    if problem.ordered:
        out = (2 + np.searchsorted(STEPS, np.maximum(distances(problem.seen), 1))).astype(np.int8)
    out[~problem.seen.any(axis=1)] = NEVER
    return out


def distances(seen):
    """(N, T) int64: columns to the nearest observed one of a vertex; T where there is none."""
    count = seen.shape[1]
    places = np.arange(count)
    before = np.maximum.accumulate(np.where(seen, places, -count), axis=1)
    after = np.minimum.accumulate(np.where(seen, places, 2 * count)[:, ::-1], axis=1)[:, ::-1]
    return np.minimum(np.minimum(places - before, after - places), count)
