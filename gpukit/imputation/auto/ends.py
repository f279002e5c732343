"""Runs of missing values at the ends of series.

Runs at an end of most series are times to forecast, or times before the records. No value beyond the run and no other
series is available there. So such runs are hidden at that end of the observed values, together with everything beyond
them, each fold further inside the series.

Runs at an end of fewer series belong to sensors that started late or failed. Other series are observed there, but the
own series only on one side. So such runs are hidden in other series at the same times: values hidden in the middle of
a series, or in years of another regime, do not predict their errors. If few other series are observed there, they are
a weak sample, and without them methods lack predictors. Then the series themselves have such runs hidden before their
ends too, together with everything beyond.
"""

import numpy as np

from gpukit.imputation.constants import FEWEST_OTHERS, FOLDS


def split_pattern(pattern, anywhere):
    """Split a pattern (n, T) of missing values into inner runs and runs at the ends.

    Return (inner pattern, two arrays (2, n) of run lengths at the first and the last column, 0 elsewhere): runs to hide
    in their own rows, those of most rows and those of fewer rows where few others are observed; and runs to hide in
    other rows, those of fewer rows. No row of the pattern is missing whole. anywhere: keep runs of fewer rows in the
    inner pattern. Runs of fewer rows where few others are observed stay there too if they are less than half of it.
    """
    lengths = np.array([pattern.argmin(axis=1), pattern[:, ::-1].argmin(axis=1)])
    count = np.count_nonzero(lengths, axis=1, keepdims=True)
    is_common, is_rare = 2 * count > len(pattern), len(pattern) - count < FEWEST_OTHERS
    common, partial = lengths * is_common, lengths * ~(is_common | anywhere)
    if 2 * np.sum(partial * is_rare) < np.count_nonzero(pattern) - common.sum():
        partial = partial * ~is_rare
    first, last = common + partial
    columns = np.arange(pattern.shape[1])
    inner = pattern & (columns >= first[:, None]) & (columns < (len(columns) - last)[:, None])
    return inner, common + partial * is_rare, partial


def hide_at_ends(seen, free, lengths):
    """Return (hidden, lost) (n, T) bool of runs of `lengths` (2, n) at the ends of free values.

    No run hides more than half of a row.
    """
    first, last = hide_at_start(seen, free, lengths[0]), hide_at_start(seen[:, ::-1], free[:, ::-1], lengths[1])
    return tuple(at_first | at_last[:, ::-1] for at_first, at_last in zip(first, last))


def hide_at_start(seen, free, lengths):
    """Apply hide_at_ends to the first values only."""
    if not lengths.any():
        return np.zeros((2, *seen.shape), bool)
    columns, start, count = np.arange(seen.shape[1]), free.argmax(axis=1), np.count_nonzero(seen, axis=1)
    lengths = np.where(2 * lengths > count, count // 4, lengths)
    end = np.where((lengths > 0) & free.any(axis=1), start + lengths, 0)[:, None]
    lost = seen & (columns < end)
    lost &= 2 * lost.sum(axis=1, keepdims=True) <= seen.sum(axis=1, keepdims=True)
    return lost & free & (columns >= start[:, None]), lost


def hide_in_other_rows(seen, free, lengths, rng):
    """Return (n, T) bool of runs of `lengths` (2, n) at the same ends of other, random rows.

    At most 1 / FOLDS of the rows observed and free there, and at most the number of rows with runs. One row stays.
    """
    ends = (
        hide_in_other_rows_at_start(seen, free, lengths[0], rng),
        hide_in_other_rows_at_start(seen[:, ::-1], free[:, ::-1], lengths[1], rng),
    )
    return ends[0] | ends[1][:, ::-1]


def hide_in_other_rows_at_start(seen, free, lengths, rng):
    """Apply hide_in_other_rows to the first columns only."""
    hidden = np.zeros(seen.shape, bool)
    rows, others = np.flatnonzero(lengths), np.flatnonzero(lengths == 0)
    count = min(len(rows), int(np.ceil(len(others) / FOLDS)), len(others) - 1)
    for row, length in zip(rng.permutation(others), rng.permutation(np.resize(rows, len(others)))):
        if not count:
            break
        entries = seen[row, : lengths[length]]
        if (free[row, : len(entries)] | ~entries).all() and entries.any() and seen[row, len(entries) :].any():
            hidden[row, : len(entries)], count = entries, count - 1
    return hidden
