"""Search for weights by hidden values, coarse to fine; each solution is the start of the next."""

import numpy as np

from gpukit.imputation.auto import masking as hiding
from gpukit.imputation.auto.judging import error_of
from gpukit.imputation.constants import FACTORS, MOST_TRIALS, PERIOD_WEIGHTS, WEIGHT_GAIN
from gpukit.imputation.periods import lags_of
from gpukit.imputation.smoothness.solve import ROUGH, Weights, solve
from gpukit.model_selection.trial import Budget

WINDOW = 1 << 17  # numbers of the search
NUMBERS = 1 << 18  # of all folds of a search
# Starts (alike, a, b, c) of the search, for gaps and for unobserved vertices.
STARTS = tuple((alike, *law) for law in ((0.001, 0.03, 0.2), (0.1, 0.003, 0.1)) for alike in (0, 1))


def best(problem, start_work):
    """Return the Weights with the least error on hidden values of a problem.

    start_work: method.start_work.
    """
    whole = problem.window(WINDOW)
    folds = hiding.folds_of(whole, problem.options.seed + 1)[: max(1, NUMBERS // whole.values.size)]
    lags = len(lags_of(problem))
    repeats = (0.0,) * lags
    if not folds:
        return Weights(*STARTS[0], repeats)
    search = Search(whole, folds, start_work, lags)
    weights_found = min((Weights(*start, repeats) for start in STARTS), key=search.error)
    for at in range(len(lags_of(whole))):
        tried = [weights_found._replace(repeats=replaced(weights_found.repeats, at, s)) for s in PERIOD_WEIGHTS]
        weights_found = min([weights_found, *tried], key=search.error)
    for factor in FACTORS:
        weights_found = search.descended(weights_found, factor)
    return weights_found


def replaced(values, at, value):
    """Return a tuple with another value at a position."""
    return (*values[:at], value, *values[at + 1 :])


class Search:
    """Errors by weights on folds; each fold's solver starts from its last solution."""

    def __init__(self, problem, folds, start_work, lags):
        self.metric, self.errors, self.lags = problem.options.metric, {}, lags
        self.budget = Budget(MOST_TRIALS)
        self.parts = [
            [
                (
                    np.nonzero(hidden.values),
                    problem.values[hidden.values],
                    start_work(problem.without(hidden.lost), alike),
                )
                for hidden in folds
            ]
            for alike in (0, 1)
        ]

    def error(self, weights):
        """Return the error on all hidden values."""
        if weights not in self.errors:
            residuals = [self.residuals(weights, *part) for part in self.parts[weights.alike]]
            self.errors[weights] = error_of(np.concatenate(residuals), self.metric)
            self.budget.spend(1)
        return self.errors[weights]

    def residuals(self, weights, places, truth, work):
        """Return (values,) of one fold: residuals of hidden values at places (vertex, column)."""
        solve(work.solver, work.observed, self.fitting(weights, work), ROUGH)
        return work.at(*places) - truth

    def fitting(self, weights, work):
        """Return weights with one repeat per lag of the window."""
        return weights._replace(repeats=weights.repeats[: len(work.observed.lags) - 1])

    def descended(self, weights, factor):
        """Return the weights after coordinate descent by steps of a factor."""
        moved = True
        while moved and not self.budget.is_spent:
            moved = False
            for field in ("near", "steady", "together", *range(self.lags)):
                for step in (factor, 1.0 / factor):
                    other = stepped(weights, field, step)
                    if self.error(other) < WEIGHT_GAIN * self.error(weights):
                        weights, moved = other, True
                        break
        return weights


def stepped(weights, field, factor):
    """Return Weights with one weight, a name or the number of a lag, multiplied by a factor."""
    if isinstance(field, str):
        return weights._replace(**{field: factor * getattr(weights, field)})
    return weights._replace(repeats=replaced(weights.repeats, field, factor * weights.repeats[field]))
