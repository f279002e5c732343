"""The method 'smoothness'."""

from typing import NamedTuple

import numpy as np

from gpukit._pool import by_rows
from gpukit.device.engine import engine
from gpukit.imputation.constants import PRIOR_CHANGES
from gpukit.imputation.periods import lags_of, row_means
from gpukit.imputation.problem import Method
from gpukit.imputation.simple import interpolation
from gpukit.imputation.smoothness.choose import best
from gpukit.imputation.smoothness.solve import Observed, Weights, observed_of, solve


class Work(NamedTuple):
    """A problem on a device: solver; observed, in units; level (1, T) and unit (N, 1) of its values."""

    solver: object
    observed: Observed
    level: np.ndarray
    unit: np.ndarray

    def filled(self):
        """Return (N, T) float64: the solution in the problem's units."""
        return self.level + self.unit * self.solver.solution().astype(np.float64)

    def at(self, vertex, column):
        """Return (values,) float64: the solution at some places in the problem's units."""
        return self.level[0, column] + self.unit[vertex, 0] * self.solver.solution()[vertex, column].astype(np.float64)


def suits(problem):
    """Return True for series in time of two vertices at least."""
    return problem.ordered and len(problem.values) > 1


def start_work(problem, alike):
    """Return the Work of a problem, starting from interpolation; alike: see graph.laplacian_of."""
    level, line = level_of(problem), interpolation(problem, {})
    rest, start = np.empty((2, *line.shape), np.float32)

    def centre(rows):
        return np.where(problem.seen[rows], problem.values[rows] - level, 0.0)

    def in_units(rows):
        rest[rows] /= unit[rows]
        start[rows] = np.nan_to_num(((line[rows] - level) / (size * unit[rows].astype(np.float64))).astype(np.float32))

    size = max(by_rows(lambda rows: float(np.abs(centre(rows)).max()), line.shape)) or 1.0
    by_rows(lambda rows: np.divide(centre(rows), size, out=rest[rows], casting="same_kind"), line.shape)
    unit = units(rest, problem.seen)
    by_rows(in_units, line.shape)
    unit = size * unit.astype(np.float64)
    observed = observed_of(problem, rest, alike)
    solver = engine(problem.place.device, "gpukit.imputation.smoothness").ConjugateGradients(observed, start)
    return Work(solver, observed, level, unit)


def level_of(problem):
    """Return (1, T): the overall mean plus each column's mean deviation from the vertices' means.

    Columns without observations are interpolated.
    """
    values, seen = problem.values, problem.seen
    count = seen.sum(axis=0)
    centre = (values.sum(axis=0) - row_means(values, seen)[:, 0] @ seen.astype(np.float64)) / np.maximum(count, 1)
    some = count > 0
    centre = np.interp(problem.at, problem.at[some], centre[some])
    return (values.sum() / max(1, seen.sum()) + centre)[None]


def units(rest, seen):
    """Return (N, 1) float32 above 0: each vertex's usual change between columns, shrunk to that of all.

    rest (N, T) float32, seen (N, T).
    """

    def count_changes(rows):
        there = seen[rows, 1:] & seen[rows, :-1]
        change = np.diff(rest[rows], axis=1)
        change *= there
        return np.einsum("ij,ij->i", change, change).astype(np.float64), there.sum(axis=1)

    squares, count = (np.concatenate(part) for part in zip(*by_rows(count_changes, rest.shape)))
    usual = squares.sum() / max(1, count.sum()) or 1.0
    return np.sqrt((squares + PRIOR_CHANGES * usual) / (count + PRIOR_CHANGES))[:, None].astype(np.float32)


def settings(problem):
    """Return the weights with the least error on hidden values."""
    found = best(problem, start_work)._asdict()
    return [found | {"repeats": list(found["repeats"])}]


def fill(problem, setting):
    """Return (N, T): the minimum for the setting's weights."""
    work = start_work(problem, setting["alike"])
    lags = len(lags_of(problem))  # longer series may have more lags than the fitted ones
    repeats = (*setting["repeats"], *[0.0] * lags)[:lags]
    solve(work.solver, work.observed, Weights(**{**setting, "repeats": repeats}))
    return work.filled()


METHOD = Method("smoothness", suits, settings, fill, ordered=True)
