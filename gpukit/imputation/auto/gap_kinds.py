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
    out = np.full(problem.seen.shape, ALWAYS, np.int8)
    if problem.ordered:
        by_distance = (2 + np.searchsorted(GAP_DISTANCES, np.arange(out.shape[1] + 1))).astype(np.int8)
        out = by_distance[distances(problem.seen)]
    out[~problem.seen.any(axis=1)] = NEVER
    return out


def distances(seen):
    """Return the distance to the nearest observed column of a row, (N, T) int32.

    T where a row has no observed column.
    """
    count = seen.shape[1]
    columns = np.arange(count, dtype=np.int32)

    def of_rows(rows):
        before, after = scans.nearest(seen[rows])
        before[before < 0] = -count
        after[after == count] = 2 * count
        return np.minimum(np.minimum(columns - before, after - columns), count)

    return np.concatenate(by_rows(of_rows, seen.shape))
