"""Soft-impute among the methods."""

import numpy as np

from gpukit._pool import shared_out
from gpukit.device.engine import engine
from gpukit.imputation.baselines.means import level
from gpukit.imputation.problem import Method
from gpukit.imputation.soft_impute.plan import MOST_WORK, SHARES
from gpukit.imputation.soft_impute.walk import completed


def suits(problem):
    """Two vertices and columns at least, and no more than can be decomposed at every step."""
    small, large = sorted(problem.values.shape)
    return small > 2 and small * small * large < MOST_WORK


def settings(problem):
    """The threshold."""
    return [{"share": share} for share in SHARES]


def fill(problem, setting):
    """The estimate, with a mean of vertices and columns taken off and put back."""
    return fill_all([problem], [setting["share"]])[0]


def fill_all(problems, shares):
    """[(N, T) float64]: the estimates of problems of one device, a share for each, side by side."""
    steps = engine(problems[0].place.device, "gpukit.imputation.soft_impute")
    bases = shared_out(lambda problem: level(problem, "both"), problems)
    sessions = [session_of(steps, problem, base) for problem, base in zip(problems, bases)]
    for base, estimate in zip(bases, completed(steps, sessions, shares)):
        base += estimate if is_wide(base) else estimate.T
    return bases


def session_of(steps, problem, base):
    """A session of a problem less a base, its smaller side the rows."""
    known, seen = np.where(problem.seen, problem.values - base, 0.0).astype(np.float32), problem.seen
    if not is_wide(base):
        known, seen = known.T, seen.T
    return steps.Session(np.ascontiguousarray(known), np.ascontiguousarray(seen))


def is_wide(table):
    """Whether rows are no more than columns."""
    return table.shape[0] <= table.shape[1]


METHOD = Method("soft-impute", suits, settings, fill)
