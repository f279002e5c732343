"""Smoothness over graph and time among the methods."""

from typing import NamedTuple

import numpy as np

from gpukit.device.engine import engine
from gpukit.imputation.auto.judging import simple
from gpukit.imputation.baselines.means import two_way
from gpukit.imputation.problem import Method
from gpukit.imputation.smoothness.choose import best
from gpukit.imputation.smoothness.plan import Weights
from gpukit.imputation.smoothness.solve import ground_of, lags_of, solve
from gpukit.imputation.smoothness.steps import Ground


class Work(NamedTuple):
    """A problem at work on a device: session; ground, in units; level (1, T) and unit of what it stands for."""

    session: object
    ground: Ground
    level: np.ndarray
    unit: float

    def filled(self):
        """(N, T) float64: the answer as values."""
        return self.level + self.unit * self.session.answer().astype(np.float64)


def suits(problem):
    """Series in time of two vertices at least."""
    return problem.ordered and len(problem.values) > 1


def begun(problem, alike):
    """The Work of a problem, whose first answer is interpolation; alike: see graph.laplacian_of."""
    overall, _, columns = two_way(problem.values, problem.seen)
    level = overall + columns
    rest = problem.values - level
    unit = float(np.sqrt(np.square(rest[problem.seen]).mean())) or 1.0
    ground = ground_of(problem, rest / unit, alike)
    start = np.where(problem.seen, rest, simple(problem) - level) / unit
    session = engine(problem.place.device, "gpukit.imputation.smoothness").Session(ground, start.astype(np.float32))
    return Work(session, ground, level, unit)


def settings(problem):
    """The weights that hidden values are told best by."""
    found = best(problem, begun)._asdict()
    return [found | {"repeats": list(found["repeats"])}]


def fill(problem, setting):
    """(N, T): the least of the sum."""
    work = begun(problem, setting["alike"])
    repeats = tuple(setting["repeats"])[: len(lags_of(problem))]
    solve(work.session, work.ground, Weights(**{**setting, "repeats": repeats}))
    return work.filled()


METHOD = Method("smoothness", suits, settings, fill)
