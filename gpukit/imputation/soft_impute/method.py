"""Soft-impute among the methods."""

import numpy as np

from gpukit import device as devices
from gpukit._pool import shared_out
from gpukit.device.engine import engine
from gpukit.imputation.baselines.means import level
from gpukit.imputation.problem import Method
from gpukit.imputation.soft_impute.plan import MOST_WORK, SHARES, SMALL, WHOLE
from gpukit.imputation.soft_impute.walk import completed


def suits(problem):
    """Three vertices and columns at least, and no more than can be decomposed at every step."""
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
    given, found = shared_out(begun, problems), [steps_of(one) for one in problems]
    for steps in dict.fromkeys(found):
        some = [number for number, one in enumerate(found) if one is steps]
        sessions = [steps.Session(*given[number][1:]) for number in some]
        estimates = completed(steps, sessions, [shares[number] for number in some])
        shared_out(lambda pair: raised(given[pair[0]][0], pair[1]), zip(some, estimates))
    return [base for base, *_ in given]


def raised(base, estimate):
    """base (N, T) += an estimate of it, whose smaller side are rows."""
    base += estimate if is_wide(base) else estimate.T


def steps_of(problem):
    """The steps of a problem: on a GPU too those of the CPU for small ones, of which the decompositions, that are the
    CPU's, take most of the time."""
    small = problem.values.size <= SMALL and min(problem.values.shape) <= WHOLE
    return engine(devices.cpu() if small else problem.place.device, "gpukit.imputation.soft_impute")


def begun(problem):
    """(a problem's base (N, T) float64, what is known less it float32, what is seen): of both the smaller side rows."""
    base = level(problem, "both")
    known, seen = np.where(problem.seen, problem.values - base, 0.0).astype(np.float32), problem.seen
    if not is_wide(base):
        known, seen = known.T, seen.T
    return base, np.ascontiguousarray(known), np.ascontiguousarray(seen)


def is_wide(table):
    """Whether rows are no more than columns."""
    return table.shape[0] <= table.shape[1]


METHOD = Method("soft-impute", suits, settings, fill)
