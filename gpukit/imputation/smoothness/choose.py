"""Weights by hidden values: a search from coarse to fine, each answer the start of the next."""

import numpy as np

from gpukit.imputation.auto import masking as hiding
from gpukit.imputation.auto.judging import error_of
from gpukit.imputation.smoothness.plan import (
    FACTORS,
    MOST_TRIALS,
    NUMBERS,
    POWERS,
    REPEATS,
    ROUGH,
    STARTS,
    WINDOW,
    WORTH,
    Weights,
)
from gpukit.imputation.smoothness.solve import lags_of, solve


def best(problem, begun):
    """The plan.Weights with which values of a problem, hidden as values are missing, are told best.

    begun: method.begun.
    """
    whole = problem.window(WINDOW)
    folds = hiding.folds_of(whole, problem.options.seed + 1)[: max(1, NUMBERS // whole.values.size)]
    lags = len(lags_of(problem))
    repeats = (0.0,) * lags
    if not folds:
        return Weights(*STARTS[0], repeats)
    search = Search(whole, folds, begun, lags)
    found = min((Weights(*start, repeats) for start in STARTS), key=search.error)
    for at in range(len(lags_of(whole))):
        tried = [found._replace(repeats=replaced(found.repeats, at, s)) for s in REPEATS]
        found = min([found, *tried], key=search.error)
    for factor in FACTORS:
        found = search.descended(found, factor)
    return found


def replaced(values, at, value):
    """A tuple with another value at a place."""
    return (*values[:at], value, *values[at + 1 :])


class Search:
    """Errors by weights, on folds; each keeps its session, whose answer is the next one's start."""

    def __init__(self, problem, folds, begun, lags):
        self.metric, self.known, self.lags = problem.options.metric, {}, lags
        self.parts = [
            [
                (np.nonzero(hidden.values), problem.values[hidden.values], begun(problem.without(hidden.lost), alike))
                for hidden in folds
            ]
            for alike in POWERS
        ]

    def error(self, weights):
        """The error on all hidden values."""
        if weights not in self.known:
            residuals = [self.residuals(weights, *part) for part in self.parts[weights.alike]]
            self.known[weights] = error_of(np.concatenate(residuals), self.metric)
        return self.known[weights]

    def residuals(self, weights, places, truth, work):
        """Of one fold: (values,), of hidden values at places (vertex, column)."""
        solve(work.session, work.ground, self.fitting(weights, work), ROUGH)
        return work.at(*places) - truth

    def fitting(self, weights, work):
        """Weights with as many repeats as the window has lags."""
        return weights._replace(repeats=weights.repeats[: len(work.ground.lags) - 1])

    def descended(self, weights, factor):
        """The weights to which steps of a factor, one weight at a time, lead."""
        moved = True
        while moved and len(self.known) < MOST_TRIALS:
            moved = False
            for field in ("near", "steady", "together", *range(self.lags)):
                for step in (factor, 1.0 / factor):
                    other = stepped(weights, field, step)
                    if self.error(other) < WORTH * self.error(weights):
                        weights, moved = other, True
                        break
        return weights


def stepped(weights, field, factor):
    """Weights of which one, a name or the number of a lag, is multiplied."""
    if isinstance(field, str):
        return weights._replace(**{field: factor * getattr(weights, field)})
    return weights._replace(repeats=replaced(weights.repeats, field, factor * weights.repeats[field]))
