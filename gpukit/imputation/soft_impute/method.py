"""The method 'soft-impute'."""

import numpy as np

from gpukit import device as devices
from gpukit._pool import shared_out
from gpukit.device.engine import engine
from gpukit.imputation.constants import SHARES
from gpukit.imputation.problem import Method
from gpukit.imputation.simple import level
from gpukit.imputation.soft_impute.iteration import WHOLE, completed

MOST_WORK = 1 << 37  # of additions
SMALL = 1 << 20  # numbers of a matrix with at most WHOLE rows that the CPU processes


def suits(problem):
    """Return True for at least three vertices and columns, if the cost of all steps is acceptable."""
    small, large = sorted(problem.values.shape)
    return small > 2 and small * small * large < MOST_WORK


def settings(problem):
    """Return the thresholds."""
    return [{"share": share} for share in SHARES]


def fill(problem, setting):
    """Return the estimate of centred values plus the mean of vertices and columns."""
    return fill_all([problem], [setting["share"]])[0]


def fill_all(problems, shares):
    """Return [(N, T) float64]: estimates of problems of one device, a share for each, in parallel."""
    given, modules = shared_out(prepare_problem, problems), [steps_of(module) for module in problems]
    for steps in dict.fromkeys(modules):
        indices = [number for number, module in enumerate(modules) if module is steps]
        matrices = [steps.DeviceMatrix(*given[number][1:]) for number in indices]
        estimates = completed(steps, matrices, [shares[number] for number in indices])
        shared_out(lambda pair: add_estimate(given[pair[0]][0], pair[1]), zip(indices, estimates))
    return [base for base, *_ in given]


def add_estimate(base, estimate):
    """Add an estimate, whose smaller side is rows, to base (N, T)."""
    base += estimate if is_wide(base) else estimate.T


def steps_of(problem):
    """Return the device steps of a problem.

    Small problems use the CPU, because the decompositions, which run there, take most of the time.
    """
    small = problem.values.size <= SMALL and min(problem.values.shape) <= WHOLE
    return engine(devices.cpu() if small else problem.place.device, "gpukit.imputation.soft_impute")


def prepare_problem(problem):
    """Return (base (N, T) float64, centred values float32, mask) of a problem; the smaller side of both is rows."""
    base = level(problem, "both")
    known, seen = np.where(problem.seen, problem.values - base, 0.0).astype(np.float32), problem.seen
    if not is_wide(base):
        known, seen = known.T, seen.T
    return base, np.ascontiguousarray(known), np.ascontiguousarray(seen)


def is_wide(table):
    """Return True if there are no more rows than columns."""
    return table.shape[0] <= table.shape[1]


METHOD = Method("soft-impute", suits, settings, fill)
