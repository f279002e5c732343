"""`gpukit bench implicit`: iALS beside implicit's alternating least squares, on the CPU, in one process, in turns.

Both have FACTORS factors, and as many settings to choose from, by the NDCG@10 of a click that is held out of each user,
among items drawn as those of the test are; the test has no say. Then both learn all clicks, a seed of each after the
other. Times are seconds of CPU time, all threads together, because others may be at work beside.
"""

import importlib.util
import itertools
import time
from typing import NamedTuple

import numpy as np

from gpukit.bench.clicks import ncf_data, packages, training
from gpukit.bench.record import Row
from gpukit.errors import DataError

FACTORS, EPOCHS, ITERATIONS = packages.FACTORS, 12, packages.ITERATIONS
SEEDS = 5
LEAST = 0.65  # HR@10 that any alternating least squares comes to
OURS, THEIRS = f"iALS F={FACTORS}", f"implicit's ALS F={FACTORS}"
GRIDS = {  # of each, as many
    OURS: {"unobserved_weight": (0.1, 0.2, 0.3, 0.5), "regularization": (0.003, 0.006, 0.012)},
    THEIRS: {"alpha": (2.0, 4.0, 6.0, 11.0), "regularization": (10.0, 30.0, 60.0)},
}


class Chosen(NamedTuple):
    """A package's settings: what is named, its (HR@10, NDCG@10) of the held-out clicks, how many were tried."""

    named: dict
    quality: tuple
    tried: int


def course_of(name, named, ncf, seed):
    """The course.Course of a package, its settings named, in seconds of CPU time."""
    if name == OURS:
        return training.least_squares({"n_factors": FACTORS, "n_epochs": EPOCHS, **named}, ncf, seed, time.process_time)
    return packages.implicit_als(ncf, seed, time.process_time, **named)


def settings_of(name):
    """[dict] of what may be chosen."""
    grid = GRIDS[name]
    return [dict(zip(grid, values)) for values in itertools.product(*grid.values())]


def choose(name, held):
    """The Chosen of a package on held-out clicks, a ncf_data.Ncf."""
    tried = [(course_of(name, named, held, 0).final[:2], named) for named in settings_of(name)]
    quality, named = max(tried, key=lambda one: one[0][1])
    return Chosen(named, quality, len(tried))


def duel(conditions):
    """Seconds of CPU time and quality of both, at settings chosen on held-out clicks, and the other's best test."""
    if conditions.device.is_cuda or not importlib.util.find_spec("implicit"):
        return
    ncf = ncf_data.read(conditions.data, conditions.scale)
    held = ncf_data.held_out(ncf)
    chosen = {name: choose(name, held) for name in (OURS, THEIRS)}
    courses = {name: [] for name in chosen}
    for seed in range(SEEDS):
        for name, mine in courses.items():
            mine.append(course_of(name, chosen[name].named, ncf, seed))
    if conditions.scale == 1:
        check(courses)
    for name, mine in courses.items():
        yield from rows(name, mine, ncf.name, told(chosen[name]))
    yield from sooner(courses, ncf.name)
    yield from best_test(ncf)


def check(courses):
    """DataError unless all have learned."""
    for name, mine in courses.items():
        lowest = min(course.final[0] for course in mine)
        if lowest < LEAST:
            raise DataError(f"{name} comes to HR@10 {lowest:.3f}, below {LEAST}: it has not learned.")


def told(chosen):
    """How settings were chosen, as text."""
    named = ", ".join(f"{name} {value:g}" for name, value in chosen.named.items())
    return f"{named}: of {chosen.tried} the best on a held-out click a user, NDCG@10 {chosen.quality[1]:.4f} there"


def rows(name, courses, where, note):
    """Yield the Rows of a package's Courses: CPU time of the training, HR and NDCG of the test."""
    data, epochs = (where, "real"), len(courses[0].times)
    samples = [1e3 * course.times[-1] for course in courses]
    yield Row(f"CPU time of {name}, {epochs} epochs", *data, samples, "ms", note)
    for place, metric in enumerate(("HR@10", "NDCG@10")):
        yield Row(f"{metric} of {name}", *data, [course.final[place] for course in courses], metric, note)


def sooner(courses, where):
    """Yield the Row of the CPU time after which ours is as good as theirs in the end, seeds averaged, if it ever is."""
    wanted = np.mean([course.final[:2] for course in courses[THEIRS]], axis=0)
    means = np.mean([course.found for course in courses[OURS]], axis=0)
    there = np.flatnonzero((means >= wanted).all(axis=1))
    if len(there):
        samples = [1e3 * course.times[there[0]] for course in courses[OURS]]
        note = f"HR@10 {wanted[0]:.4f} and NDCG@10 {wanted[1]:.4f}, means of {SEEDS} seeds, after {there[0] + 1} epochs"
        yield Row(f"CPU time of {OURS} to the quality of {THEIRS}", where, "real", samples, "ms", note)


def best_test(ncf):
    """Yield the Row of what theirs comes to at the settings that are the best on the test itself."""
    quality, named = max(
        ((course_of(THEIRS, named, ncf, 0).final[:2], named) for named in settings_of(THEIRS)),
        key=lambda one: one[0][1],
    )
    note = f"HR@10 {quality[0]:.4f} at {named}: of all tried, by the test itself, one seed"
    yield Row(f"NDCG@10 of {THEIRS}, best of the test", ncf.name, "real", [quality[1]], "NDCG@10", note)


BENCHES = {"implicit": duel}
