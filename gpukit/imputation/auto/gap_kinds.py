"""Kinds of missing values, by how far what is observed is: what errs alike is judged and mixed together."""

import numpy as np

from gpukit._pool import by_rows
from gpukit.imputation import scans

STEPS = (1, 2, 4, 8, 16, 32)  # columns to the nearest observed value of a vertex
NEVER, ALWAYS = 0, 1  # a vertex of which nothing is observed; columns that have no order
KINDS = 2 + len(STEPS) + 1
GROUPS = np.array([0, 2, 1, 1] + [2] * (KINDS - 4))  # of kinds: hidden whole, beside an observed value, and others


def kinds(problem):
    """(N, T) int8 of all entries, those observed too: NEVER, ALWAYS, or 2 and more by the distance in columns."""
    seen, out = problem.seen, np.full(problem.seen.shape, ALWAYS, np.int8)
    if problem.ordered:
        of_distance = 2 + np.searchsorted(STEPS, np.maximum(np.arange(seen.shape[1] + 1), 1)).astype(np.int8)
        by_rows(lambda rows: scans.by_distance(*scans.some(rows, seen), of_distance, out[rows]), seen.shape)
    out[~seen.any(axis=1)] = NEVER
    return out


def distances(seen):
    """(N, T) int32: columns to the nearest observed one of a vertex; T where there is none."""
    out, themselves = np.empty(seen.shape, np.int32), np.arange(seen.shape[1] + 1, dtype=np.int32)
    by_rows(lambda rows: scans.by_distance(*scans.some(rows, seen), themselves, out[rows]), seen.shape)
    return out
