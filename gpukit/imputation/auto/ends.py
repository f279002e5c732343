"""Runs of missing values at the ends of series: sensors that begin late, and what is yet to come.

Beyond an end there is no value to go by. So such a run is hidden at an end of what is observed, together with all that
lies beyond it, fold after fold farther in: as what comes next is told from what was before.
"""

import numpy as np


def parted(pattern):
    """(what lies between, lengths (2, n) of the runs at the first and at the last column) of a pattern (n, T) of what
    is missing, of which no row misses everything."""
    lengths = np.array([pattern.argmin(axis=1), pattern[:, ::-1].argmin(axis=1)])
    columns = np.arange(pattern.shape[1])
    inner = pattern & (columns >= lengths[0][:, None]) & (columns < (len(columns) - lengths[1])[:, None])
    return inner, lengths


def laid(seen, free, lengths):
    """(hidden, lost) (n, T) bool of runs of `lengths` (2, n) at the first and the last values of rows that are free;
    none where it would leave less than half of a row."""
    first, last = at_start(seen, free, lengths[0]), at_start(seen[:, ::-1], free[:, ::-1], lengths[1])
    return tuple(one | other[:, ::-1] for one, other in zip(first, last))


def at_start(seen, free, lengths):
    """laid() of the first values alone."""
    columns, begin = np.arange(seen.shape[1]), free.argmax(axis=1)
    end = np.where((lengths > 0) & free.any(axis=1), begin + lengths, 0)[:, None]
    lost = seen & (columns < end)
    lost &= 2 * lost.sum(axis=1, keepdims=True) <= seen.sum(axis=1, keepdims=True)
    return lost & free & (columns >= begin[:, None]), lost
