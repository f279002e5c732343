"""Kinds of missing values, by distance to the nearest observed value.

Values of one kind have similar errors; they are judged and mixed together.
"""

import numpy as np

from gpukit._pool import by_rows
from gpukit.imputation import scans
from gpukit.imputation.constants import GAP_DISTANCES

NEVER, ALWAYS = 0, 1  # a vertex without observed values; columns without an order
KINDS = 2 + len(GAP_DISTANCES) + 1
GROUPS = np.array([0, 2, 1, 1] + [2] * (KINDS - 4))  # by kind: whole vertex, next to an observed value, other


def kinds(problem):
    """Return the kind of every entry, observed or not, as (N, T) int8.

    NEVER, ALWAYS, or 2 and more by the distance in columns.
    """
    observed, out = problem.seen, np.full(problem.seen.shape, ALWAYS, np.int8)
    if problem.ordered:
        distance = np.maximum(np.arange(observed.shape[1] + 1), 1)
        by_distance = 2 + np.searchsorted(GAP_DISTANCES, distance).astype(np.int8)
        by_rows(lambda rows: scans.by_distance(*scans.some(rows, observed), by_distance, out[rows]), observed.shape)
    out[~observed.any(axis=1)] = NEVER
    return out


def distances(seen):
    """Return the distance to the nearest observed column of a row, (N, T) int32.

    T where a row has no observed column.
    """
    out, identity = np.empty(seen.shape, np.int32), np.arange(seen.shape[1] + 1, dtype=np.int32)
    by_rows(lambda rows: scans.by_distance(*scans.some(rows, seen), identity, out[rows]), seen.shape)
    return out
