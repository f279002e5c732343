"""Runs of missing values at an end of series.

At an end of most series: what is yet to come, or was before the records. Beyond it there is no value to go by, and none
of the others' either. So such runs are hidden at that end of what is observed, together with all that lies beyond them,
fold after fold farther in: as what comes next is told from what was before.

At an end of fewer, as of sensors that begin late or died: the others' values tell them, and those of their own only
from one side. So they are hidden of others, at the same times: what is told in the middle of a series, or of years that
are unlike, tells nothing of them: measles of 48 states, half of them without their last years, judged in the decades
before vaccination, were filled in 25 times worse than by the last value. Where few others are observed there, such runs
are hidden at that end of any rows, a few in a fold, as those of most series are: beyond an end errors are larger than
between two observed values.
"""

import numpy as np

MOST = 0.5  # of the rows
AT_ONCE = 0.2  # of the rows observed at an end, so many lose it in a fold
OTHERS = 10  # rows observed there: fewer runs tell less than many at other times
LONGEST = 4  # runs longer than half of what is observed of a row are hidden as a run of that fraction of it


def parted(pattern, anywhere):
    """(the rest, three arrays (2, n) of lengths, 0 elsewhere, of the runs at the first and at the last column: those of
    most rows, those of fewer, and those of fewer where few others are observed) of a pattern (n, T) of what is missing,
    of which no row misses everything. anywhere: those of fewer rows are among the rest, as the third are where they are
    less than half of it."""
    lengths = np.array([pattern.argmin(axis=1), pattern[:, ::-1].argmin(axis=1)])
    count = np.count_nonzero(lengths, axis=1, keepdims=True)
    most, few = count > MOST * len(pattern), len(pattern) - count < OTHERS
    ahead, fewer = lengths * most, lengths * ~(most | anywhere)
    if 2 * np.sum(fewer * few) < np.count_nonzero(pattern) - ahead.sum():
        fewer = fewer * ~few
    first, last = ahead + fewer
    columns = np.arange(pattern.shape[1])
    inner = pattern & (columns >= first[:, None]) & (columns < (len(columns) - last)[:, None])
    return inner, ahead, fewer * ~few, fewer * few


def laid(seen, free, lengths):
    """(hidden, lost) (n, T) bool of runs of `lengths` (2, n) at the first and the last values of rows that are free;
    none where it would leave less than half of a row."""
    first, last = at_start(seen, free, lengths[0]), at_start(seen[:, ::-1], free[:, ::-1], lengths[1])
    return tuple(one | other[:, ::-1] for one, other in zip(first, last))


def at_start(seen, free, lengths):
    """laid() of the first values alone."""
    if not lengths.any():
        return np.zeros((2, *seen.shape), bool)
    columns, begin, count = np.arange(seen.shape[1]), free.argmax(axis=1), np.count_nonzero(seen, axis=1)
    lengths = np.where(2 * lengths > count, count // LONGEST, lengths)
    end = np.where((lengths > 0) & free.any(axis=1), begin + lengths, 0)[:, None]
    lost = seen & (columns < end)
    lost &= 2 * lost.sum(axis=1, keepdims=True) <= seen.sum(axis=1, keepdims=True)
    return lost & free & (columns >= begin[:, None]), lost


def of_others(seen, free, lengths, rng):
    """(n, T) bool of runs of `lengths` (2, n) at the same ends of other rows, drawn anew: of AT_ONCE of those that are
    observed there and free, as many as have runs at most."""
    ends = first_of_others(seen, free, lengths[0], rng), first_of_others(seen[:, ::-1], free[:, ::-1], lengths[1], rng)
    return ends[0] | ends[1][:, ::-1]


def first_of_others(seen, free, lengths, rng):
    """of_others() at the first columns alone."""
    hidden = np.zeros(seen.shape, bool)
    given, others = np.flatnonzero(lengths), np.flatnonzero(lengths == 0)
    count = min(len(given), int(np.ceil(AT_ONCE * len(others))))
    for row, length in zip(rng.permutation(others), rng.permutation(np.resize(given, len(others)))):
        if not count:
            break
        run = seen[row, : lengths[length]]
        if (free[row, : len(run)] | ~run).all() and run.any() and seen[row, len(run) :].any():
            hidden[row, : len(run)], count = run, count - 1
    return hidden


def draw_rows(lengths, rng):
    """Draw rows anew for runs of lengths (2, n) at the ends of some rows: of AT_ONCE of all, as many as have runs at
    most."""
    drawn = np.zeros_like(lengths)
    for some, given in zip(drawn, lengths):
        if not given.any():
            continue
        runs = rng.permutation(given[given > 0])[: int(np.ceil(AT_ONCE * len(given)))]
        some[rng.permutation(len(given))[: len(runs)]] = runs
    return drawn
