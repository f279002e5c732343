"""Folds of observed values, hidden in the same pattern as values are missing.

The pattern of missing values is laid over the data again, with the vertices permuted and the columns shifted by one
lag. Runs stay runs, vertices missing whole become other vertices, and columns missing everywhere become other columns.
Runs at an end of series stay there (`split_pattern`). A pattern that would hide too much loses some of its runs; runs
that begin together on most vertices are kept or lost together. A pattern that hides too little is laid over several
times.

Runs at an end of most series are times to forecast, or times before the records. No value beyond the run and no other
series is available there. So such runs are hidden at that end of the observed values, together with everything beyond
them, each fold further inside the series. Where half of a series holds only one run, runs are shortened until it
holds three: errors of series that end together have much in common, and those of a single time do not predict others.

Runs at an end of fewer series belong to sensors that started late or failed. Other series are observed there, but the
own series only on one side. So such runs are hidden in other series at the same times: values hidden in the middle of
a series, or in years of another regime, do not predict their errors. If few other series are observed there, they are
a weak sample, and without them methods lack predictors. Then the series themselves have such runs hidden before their
ends too, together with everything beyond.

Two or three runs of a series choose a method, but do not show the size of its errors. Deviations are learned at further
origins (`origins_of`), where the selected methods alone are run again (Tashman, Int. J. Forecasting 16, 2000).
"""

from typing import NamedTuple

import numpy as np

from gpukit.imputation import scans
from gpukit.imputation.constants import FEW_UNITS, FEWEST_OBSERVED, LEAST_SHARE, RUNS_PER_SERIES, SAMPLE_NUMBERS
from gpukit.model_selection.splits import order_by_values
from gpukit.streams import Numpy

LEAST_FOLDS, FOLDS, MOST_FOLDS = 2, 5, 12  # with many runs, usually, and with few runs; chosen


class Hidden(NamedTuple):
    """Hidden values of a fold, (N, T) bool.

    values: entries to judge by. lost: these, and further entries that methods must not see.
    """

    values: np.ndarray
    lost: np.ndarray


def folds_of(problem, seed, count=None, anywhere=False):
    """Return [Hidden] whose values do not overlap; [] if too few values are observed.

    Folds do not depend on the order of the vertices. count: number of folds, if there are enough values. By default
    FOLDS or LEAST_FOLDS; with few vertices or runs, more folds until enough of them are hidden. anywhere: move runs at
    an end of few series like all others, to learn from all vertices.
    """
    order = order_by_values(np.where(problem.seen, problem.values, np.nan))
    folds = draw_folds(problem.seen[order], seed, count, (problem.ordered, anywhere))
    position = np.argsort(order)
    return [Hidden(hidden.values[position], hidden.lost[position]) for hidden in folds]


def draw_folds(seen, seed, count, options):
    """Return [Hidden] of a mask (N, T) of observed values.

    options: see overlay_runs. Other arguments as in folds_of.
    """
    many_runs, enough_units = 2000, 40  # in the first fold; vertices and start times of runs in all folds; chosen
    if seen.sum() < FEWEST_OBSERVED or (is_whole_only(seen) and seen.any(axis=1).sum() < FEWEST_OBSERVED):
        return []
    rng = np.random.default_rng([seed, Numpy.HELD_OUT_RUNS[0]])
    vertices, free, hidden_folds, units = rng.permutation(np.flatnonzero(seen.any(axis=1))), seen.copy(), [], 0
    few = len(vertices) <= min(FEW_UNITS, len(seen) - 1)
    vertex_folds = count or (max(FOLDS, len(vertices)) if few else FOLDS)
    for fold in range(count or max(FOLDS, min(max(MOST_FOLDS, vertex_folds), SAMPLE_NUMBERS // seen.size))):
        whole = dead_vertices(seen, vertices, fold, vertex_folds) & free
        runs = overlay_runs(seen, free & ~whole, rng, options)
        hidden = Hidden(whole | runs.values, whole | runs.lost)
        if hidden.values.any() and not hidden.lost[seen].all():
            hidden_folds.append(hidden)
            free &= ~hidden.values
        units += np.count_nonzero(whole.any(axis=1)) + len(np.unique(scans.runs(runs.values)[1]))
        is_plenty = len(hidden_folds) == LEAST_FOLDS and len(scans.runs(hidden_folds[0].values)[0]) > many_runs
        if count is None and (is_plenty or (fold + 1 >= vertex_folds and units >= enough_units)):
            break
    return hidden_folds


def hide_nothing(seen):
    """Return a Hidden without hidden values."""
    return Hidden(*np.zeros((2, *seen.shape), bool))


def is_whole_only(seen):
    """Return True if every vertex is observed whole or not at all."""
    return bool((seen.all(axis=1) | ~seen.any(axis=1)).all())


def dead_vertices(seen, vertices, fold, folds):
    """Choose the vertices of one fold, (N, T) bool.

    A fold hides the fraction of observed vertices that is missing in the data, at most a quarter. Folds do not
    overlap.
    """
    share = 1.0 - len(vertices) / len(seen)
    count = min(int(np.ceil(min(share, 0.25) * len(vertices))), len(vertices) // folds) if share else 0
    hidden = np.zeros(seen.shape, bool)
    hidden[vertices[fold * count : (fold + 1) * count]] = True
    return hidden


def overlay_runs(seen, free, rng, options):
    """Return a Hidden of runs among the values `free`, as partly observed vertices miss them.

    options: (columns have an order, runs at an end of few series are moved like all others).
    """
    alive = np.flatnonzero(seen.any(axis=1))
    pattern, observed = ~seen[alive], seen[alive]
    if not pattern.any():
        return hide_nothing(seen)
    share = float(pattern.mean())
    goal = max(LEAST_SHARE, min(share, (1.0 - share) / 2) / 2) * seen.sum()
    enough, idle_draws = 0.8 * goal, 10  # draws in a row with hardly anything new end drawing; chosen
    hidden_rows = lost = np.zeros(pattern.shape, bool)
    ordered, anywhere = options
    missing = np.count_nonzero(pattern)
    if ordered:
        pattern, own, others = split_pattern(pattern, anywhere)
        hidden_rows, lost = hide_at_both_ends(hide_at_start, observed, free[alive], own)
        hidden_rows = hidden_rows | hide_at_both_ends(hide_in_other_rows, observed, free[alive] & ~lost, others, rng)
    blocked, at_ends, size = (seen & ~free)[alive] | lost, hidden_rows, np.count_nonzero(pattern)
    count, idle = np.count_nonzero(hidden_rows), 0
    if count:  # runs at ends say nothing of others, however many they are: both are drawn, and thinned together
        enough = max(enough, count + enough * size / missing)
    for _ in range(200 if size else 0):
        if count >= enough or idle == idle_draws:
            break
        shifted = np.roll(pattern[rng.permutation(len(alive))], int(rng.integers(pattern.shape[1])), axis=1)
        hidden_rows = hidden_rows | (keep_untouched(shifted, blocked) & observed)
        before, count = count, np.count_nonzero(hidden_rows)
        idle = idle + 1 if count - before <= 0.01 * size else 0
    hidden_rows = thin_runs(hidden_rows, goal, rng)
    result = hide_nothing(seen)
    result.values[alive] = hidden_rows
    result.lost[alive] = hidden_rows | (lost & (hidden_rows & at_ends).any(axis=1, keepdims=True))
    return result


def thin_runs(hidden, goal, rng):
    """Remove runs until about `goal` values are hidden.

    Runs that begin in one column on most rows are kept or removed together.
    """
    if hidden.sum() <= 1.2 * goal:
        return hidden
    row, first, end = scans.runs(hidden)
    is_shared = np.bincount(first, minlength=hidden.shape[1])[first] > 0.5 * len(hidden)
    event = np.where(is_shared, first, hidden.shape[1] + np.arange(len(row)))
    sizes = np.bincount(event, end - first)
    order = rng.permutation(np.flatnonzero(sizes))
    is_removed = np.ones(len(sizes), bool)
    is_removed[order[np.cumsum(sizes[order]) - sizes[order] < goal]] = False
    return keep_runs(hidden, end - first, ~is_removed[event])


def keep_runs(hidden, lengths, is_kept):
    """Return hidden values without some of their runs; lengths, is_kept (runs,) in the order of scans.runs."""
    out = hidden.copy()
    out[hidden] = np.repeat(is_kept, lengths)
    return out


def keep_untouched(hidden, blocked):
    """Return hidden values without runs that contain a blocked value.

    The remainder of such a run would be another kind of gap.
    """
    _, first, end = scans.runs(hidden)
    lengths = end - first
    starts = np.cumsum(lengths) - lengths
    is_touched = np.logical_or.reduceat(blocked[hidden], starts) if len(starts) else np.zeros(0, bool)
    return keep_runs(hidden, lengths, ~is_touched)


def split_pattern(pattern, anywhere):
    """Split a pattern (n, T) of missing values into inner runs and runs at the ends.

    Return (inner pattern, two arrays (2, n) of run lengths at the first and the last column, 0 elsewhere): runs to hide
    in their own rows, those of most rows and those of fewer rows where few others are observed; and runs to hide in
    other rows, those of fewer rows. No row of the pattern is missing whole. Runs of most rows are shortened, see
    shorten_runs. anywhere: keep runs of fewer rows in the inner pattern. Runs of fewer rows where few others are
    observed stay there too if they are less than half of it.
    """
    common, partial, rare = runs_at_ends(pattern, anywhere)
    first, last = common + partial
    columns = np.arange(pattern.shape[1])
    inner = pattern & (columns >= first[:, None]) & (columns < (len(columns) - last)[:, None])
    return inner, shorten_runs(common, ~pattern) + rare, partial


def runs_at_ends(pattern, anywhere=False):
    """Return lengths (2, n) of the runs at the ends of a pattern (n, T): see split_pattern.

    Those of most rows, those of fewer rows, and the latter where few others are observed.
    """
    fewest_others = 10  # fewer are a weaker sample than runs at other times; test
    lengths = np.array([pattern.argmin(axis=1), pattern[:, ::-1].argmin(axis=1)])
    count = np.count_nonzero(lengths, axis=1, keepdims=True)
    is_common, is_rare = 2 * count > len(pattern), len(pattern) - count < fewest_others
    common, partial = lengths * is_common, lengths * ~(is_common | anywhere)
    if 2 * np.sum(partial * is_rare) < np.count_nonzero(pattern) - common.sum():
        partial = partial * ~is_rare
    return common, partial, partial * is_rare


def shorten_runs(lengths, seen):
    """Return lengths (2, n) of runs at an end of rows of seen (n, T), those above a quarter of a row as a sixth."""
    observed = np.count_nonzero(seen, axis=1)
    return np.where(4 * lengths > observed, np.maximum(observed // RUNS_PER_SERIES, 1), lengths)


def origins_of(problem):
    """Return [Hidden] that end series at several times, to learn deviations beyond ends.

    Everything beyond an origin is lost, and values are judged up to the full length of the run at the end, for runs of
    most rows and those of fewer rows where few others are observed. Origins are an eighth of the observed values
    apart, or the length of the run if it is shorter, until half of a row is lost.
    """
    alive = problem.seen.any(axis=1)
    seen, origins = problem.seen[alive], []
    common, _, rare = runs_at_ends(~seen)
    lengths, observed = common + rare, np.count_nonzero(seen, axis=1)
    if not problem.ordered or not lengths.any():
        return []
    for number in range(1, 1 + max(FOLDS, min(MOST_FOLDS, SAMPLE_NUMBERS // problem.seen.size))):
        hidden, lost = hide_at_both_ends(hide_before_origin, seen, seen, lengths, number)
        is_kept = (2 * np.count_nonzero(lost, axis=1) <= observed)[:, None]
        if not (hidden & is_kept).any():
            break
        origin = hide_nothing(problem.seen)
        origin.values[alive], origin.lost[alive] = hidden & is_kept, lost & is_kept
        origins.append(origin)
    return origins


def hide_at_both_ends(hide, seen, free, lengths, *more):
    """Return the union of hide(seen, free, lengths (n,), *more) at the start of rows (n, T) and at their end.

    lengths (2, n): of runs at the start and at the end.
    """
    first = np.asarray(hide(seen, free, lengths[0], *more))
    return first | np.asarray(hide(seen[:, ::-1], free[:, ::-1], lengths[1], *more))[..., ::-1]


def hide_at_start(seen, free, lengths):
    """Return (hidden, lost) (n, T) bool of runs of `lengths` (n,) at the start of free values.

    No run hides more than half of a row.
    """
    if not lengths.any():
        return np.zeros((2, *seen.shape), bool)
    columns, start, count = np.arange(seen.shape[1]), free.argmax(axis=1), np.count_nonzero(seen, axis=1)
    lengths = np.where(2 * lengths > count, count // 4, lengths)
    end = np.where((lengths > 0) & free.any(axis=1), start + lengths, 0)[:, None]
    lost = seen & (columns < end)
    lost &= 2 * lost.sum(axis=1, keepdims=True) <= seen.sum(axis=1, keepdims=True)
    return lost & free & (columns >= start[:, None]), lost


def hide_before_origin(seen, free, lengths, number):
    """Return (hidden, lost) (n, T) bool of runs of `lengths` (n,) at the start of rows, up to an origin."""
    count, columns = np.count_nonzero(seen, axis=1), np.arange(seen.shape[1])
    steps = np.minimum(lengths, np.maximum(count // 8, 1))
    end = np.where(lengths > 0, seen.argmax(axis=1) + number * steps, 0)[:, None]
    lost = seen & (columns < end)
    return lost & free & (columns >= end - lengths[:, None]), lost


def hide_in_other_rows(seen, free, lengths, rng):
    """Return (n, T) bool of runs of `lengths` (n,) at the start of other, random rows.

    At most 1 / FOLDS of the rows observed and free there, and at most the number of rows with runs. One row stays.
    """
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
