"""What is hidden to judge methods by: values are hidden as values are missing.

The pattern of what is missing is laid over the data once more, with the vertices exchanged and the columns moved on
alike for all: runs stay runs, vertices that miss everything become others that do, columns that nobody sees become
other columns; runs at an end of series stay there (ends.py). Of a pattern that would hide too much some runs
are left out, those that begin together on most vertices together; one that hides too little is laid over several times.
"""

from typing import NamedTuple

import numpy as np

from gpukit._pool import by_rows
from gpukit.imputation import scans
from gpukit.imputation.auto import ends
from gpukit.streams import Numpy

FOLDS, FEWER, MORE = 5, 2, 12  # FEWER where runs are many, MORE where they are few
MANY, ENOUGH = 2000, 40  # runs hidden in a fold; vertices, and times at which runs begin, in all folds
SINGLY = 20  # vertices, up to which each is hidden by itself
NUMBERS = 1 << 21  # of more folds than FOLDS together
LEAST = 0.05  # share of what is observed that is hidden
TRIES = 200
LITTLE, IDLE = (
    0.01,
    10,
)  # of a pattern that is laid over, so many times one after another: hardly a run is free any more
FEWEST = 5  # vertices or values observed; with fewer nothing is hidden


class Hidden(NamedTuple):
    """values, lost (N, T) bool: what is hidden to judge by; that, and what else is not to be seen meanwhile."""

    values: np.ndarray
    lost: np.ndarray


def folds_of(problem, seed, count=None, anywhere=False):
    """[Hidden], no two of which judge by the same value; [] where too little is observed to hide any. count: so many,
    where there is room; else FOLDS or FEWER, or where vertices or runs are few as many as hide enough of them.
    anywhere: runs at an end of few series are moved like all others: to learn from, of all vertices."""
    seen = problem.seen
    if seen.sum() < FEWEST or (whole_only(seen) and seen.any(axis=1).sum() < FEWEST):
        return []
    rng = np.random.default_rng([seed, Numpy.HELD_OUT_RUNS[0]])
    order, free, found, units = rng.permutation(np.flatnonzero(seen.any(axis=1))), seen.copy(), [], 0
    parts = count or parts_of(order, seen)
    for fold in range(count or max(FOLDS, min(max(MORE, parts), NUMBERS // seen.size))):
        whole = dead_vertices(seen, order, fold, parts) & free
        runs = runs_laid_over(seen, free & ~whole, rng, (problem.ordered, anywhere))
        hidden = Hidden(whole | runs.values, whole | runs.lost)
        if hidden.values.any() and not hidden.lost[seen].all():
            found.append(hidden)
            free &= ~hidden.values
        units += np.count_nonzero(whole.any(axis=1)) + np.count_nonzero(starts(runs.values).any(axis=0))
        if count is None and len(found) == FEWER and count_runs(found[0].values) > MANY:
            break
        if count is None and fold + 1 >= parts and units >= ENOUGH:
            break
    return found


def parts_of(order, seen):
    """Folds that the observed vertices (order) are shared out to: where others miss everything and they are few, one
    for each."""
    return max(FOLDS, len(order)) if len(order) <= min(SINGLY, len(seen) - 1) else FOLDS


def nothing(seen):
    """The Hidden of nothing."""
    blank = np.zeros(seen.shape, bool)
    return Hidden(blank, blank)


def whole_only(seen):
    """Whether every vertex is observed whole or not at all."""
    return bool((seen.all(axis=1) | ~seen.any(axis=1)).all())


def dead_vertices(seen, order, fold, folds):
    """(N, T) bool: the vertices of a fold of so many, as large a share of those observed as others miss everything."""
    dead = 1.0 - len(order) / len(seen)
    count = min(int(np.ceil(min(dead, 0.25) * len(order))), len(order) // folds) if dead else 0
    hidden = np.zeros(seen.shape, bool)
    hidden[order[fold * count : (fold + 1) * count]] = True
    return hidden


def runs_laid_over(seen, free, rng, how):
    """Hidden, its values among `free`: runs, as vertices that are observed in part miss them. how: (whether columns
    follow each other, whether runs at an end of few series are moved like all others)."""
    alive = np.flatnonzero(seen.any(axis=1))
    pattern, inner = ~seen[alive], seen[alive]
    if not pattern.any():
        return nothing(seen)
    share = float(pattern.mean())
    goal = max(LEAST, min(share, (1.0 - share) / 2) / 2) * seen.sum()
    here = lost = np.zeros(pattern.shape, bool)
    ordered, anywhere = how
    if ordered:
        pattern, ahead, beside, alone = ends.parted(pattern, anywhere)
        ahead = ahead[:, rng.permutation(len(alive))]
        here, lost = ends.laid(inner, free[alive], np.maximum(ahead, ends.draw_rows(alone, rng)))
        here = here | ends.of_others(inner, free[alive] & ~lost, beside, rng)
    taken, at_ends, most = (seen & ~free)[alive] | lost, here, np.count_nonzero(pattern)
    count, idle = np.count_nonzero(here), 0
    for _ in range(TRIES if most else 0):
        if count >= 0.8 * goal or idle == IDLE:
            break
        moved = np.roll(pattern[rng.permutation(len(alive))], int(rng.integers(pattern.shape[1])), axis=1)
        here = here | (untouched(moved, taken) & inner)
        before, count = count, np.count_nonzero(here)
        idle = idle + 1 if count - before <= LITTLE * most else 0
    here = thinned(here, goal, rng)
    hidden, away = np.zeros((2, *seen.shape), bool)
    hidden[alive], away[alive] = here, here | (lost & (here & at_ends).any(axis=1, keepdims=True))
    return Hidden(hidden, away)


def thinned(hidden, goal, rng):
    """The hidden values without some of their runs, where they are more than the goal: of those that begin in one
    column on most of the rows all or none."""
    if hidden.sum() <= 1.2 * goal:
        return hidden
    row, first, end = np.empty((3, count_runs(hidden)), np.int64)
    scans.listed(hidden, row, first, end)
    together = np.bincount(first, minlength=hidden.shape[1])[first] > 0.5 * len(hidden)
    event = np.where(together, first, hidden.shape[1] + np.arange(len(row)))
    sizes = np.bincount(event, end - first)
    order = rng.permutation(np.flatnonzero(sizes))
    lost = np.ones(len(sizes), bool)
    lost[order[np.cumsum(sizes[order]) - sizes[order] < goal]] = False
    away, out = lost[event], hidden.copy()
    scans.taken_back(row[away], first[away], end[away], out)
    return out


def untouched(hidden, taken):
    """The hidden values without the runs that have a taken value: what is left of one is another kind of gap."""
    out = np.empty(hidden.shape, bool)
    by_rows(lambda rows: scans.untouched(*scans.some(rows, hidden, taken), out[rows]), out.shape)
    return out


def count_runs(hidden):
    """How many runs of hidden values there are."""
    return int(starts(hidden).sum())


def starts(hidden):
    """(N, T) bool: the first values of runs."""
    first = hidden.copy()
    first[:, 1:] &= ~hidden[:, :-1]
    return first
