"""Runs of missing values at an end of most series: what is yet to come, or was before the records.

Beyond an end there is no value to go by, and none of the others' either. So such runs are hidden at that end of what is
observed, together with all that lies beyond them, fold after fold farther in: as what comes next is told from what was
before. Ends that few miss, as of sensors that begin late, are gaps like others: the others' values tell them, wherever
they lie.
"""

import numpy as np

MOST = 0.5  # of the rows


def parted(pattern):
    """(the rest, lengths (2, n) of the runs at the first and at the last column, 0 where few have any) of a pattern
    (n, T) of what is missing, of which no row misses everything."""
    lengths = np.array([pattern.argmin(axis=1), pattern[:, ::-1].argmin(axis=1)])
    lengths *= np.count_nonzero(lengths, axis=1, keepdims=True) > MOST * len(pattern)
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
    if not lengths.any():
        return np.zeros((2, *seen.shape), bool)
    columns, begin = np.arange(seen.shape[1]), free.argmax(axis=1)
    end = np.where((lengths > 0) & free.any(axis=1), begin + lengths, 0)[:, None]
    lost = seen & (columns < end)
    lost &= 2 * lost.sum(axis=1, keepdims=True) <= seen.sum(axis=1, keepdims=True)
    return lost & free & (columns >= begin[:, None]), lost
