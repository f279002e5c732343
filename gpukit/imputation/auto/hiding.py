"""What is hidden to judge methods by: values are hidden as values are missing.

The pattern of what is missing is laid over the data once more, with the vertices exchanged and the columns moved on
alike for all: runs stay runs, vertices that miss everything become others that do, columns that nobody sees become
other columns. Of a pattern that would hide too much some runs are left out; one that hides too little is laid over
several times.
"""

import numpy as np

from gpukit.streams import Numpy

FOLDS, FEWER = 5, 2  # FEWER where runs are many
MANY = 2000  # runs hidden in a fold
LEAST = 0.05  # share of what is observed that is hidden
TRIES = 200
LITTLE, IDLE = (
    0.01,
    10,
)  # of a pattern that is laid over, so many times one after another: hardly a run is free any more
FEWEST = 5  # vertices or values observed; with fewer nothing is hidden


def folds_of(problem, seed, count=None):
    """[hidden (N, T) bool], of which no two overlap; [] where too little is observed to hide any. count: so many, where
    there is room; else FOLDS or FEWER."""
    seen = problem.seen
    if seen.sum() < FEWEST or (whole_only(seen) and seen.any(axis=1).sum() < FEWEST):
        return []
    rng = np.random.default_rng([seed, Numpy.HELD_OUT_RUNS[0]])
    order, free, found = rng.permutation(np.flatnonzero(seen.any(axis=1))), seen.copy(), []
    for fold in range(count or FOLDS):
        hidden = dead_vertices(seen, order, fold, count or FOLDS) & free
        hidden |= runs_laid_over(seen, free & ~hidden, rng)
        if hidden.any() and not hidden[seen].all():
            found.append(hidden)
            free &= ~hidden
        if count is None and len(found) == FEWER and count_runs(found[0]) > MANY:
            break
    return found


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


def runs_laid_over(seen, free, rng):
    """(N, T) bool among `free`: runs, as vertices that are observed in part miss them."""
    alive = np.flatnonzero(seen.any(axis=1))
    pattern = ~seen[alive]
    if not pattern.any():
        return np.zeros(seen.shape, bool)
    share = float(pattern.mean())
    goal = max(LEAST, min(share, (1.0 - share) / 2) / 2) * seen.sum()
    hidden, here, count, idle = np.zeros(seen.shape, bool), np.zeros(pattern.shape, bool), 0, 0
    taken, known, most = (seen & ~free)[alive], seen[alive], np.count_nonzero(pattern)
    for _ in range(TRIES):
        if count >= 0.8 * goal or idle == IDLE:
            break
        moved = np.roll(pattern[rng.permutation(len(alive))], int(rng.integers(pattern.shape[1])), axis=1)
        here |= untouched(moved, taken) & known
        before, count = count, np.count_nonzero(here)
        idle = idle + 1 if count - before <= LITTLE * most else 0
    hidden[alive] = thinned(here, goal, rng)
    return hidden


def thinned(hidden, goal, rng):
    """The hidden values without some of their runs, where they are more than the goal."""
    total = hidden.sum()
    if total <= 1.2 * goal:
        return hidden
    number, count = numbered(hidden)
    kept = rng.random(count) < goal / total
    return hidden & kept[number]


def untouched(hidden, taken):
    """The hidden values without the runs that have a taken value: what is left of one is another kind of gap."""
    number, count = numbered(hidden)
    free = np.bincount(number[hidden & taken], minlength=count) == 0
    return hidden & free[number]


def numbered(hidden):
    """(the number of each value's run, how many runs there are)."""
    begins = hidden.copy()
    begins[:, 1:] &= ~hidden[:, :-1]
    number = np.cumsum(begins.ravel(), dtype=np.int32).reshape(hidden.shape)
    count = int(number[-1, -1])
    return np.maximum(number - 1, 0), count


def count_runs(hidden):
    """How many runs of hidden values there are."""
    return int((hidden[:, 0]).sum() + (hidden[:, 1:] & ~hidden[:, :-1]).sum())
