"""The errors of methods on hidden values."""

import contextlib
import functools
from typing import NamedTuple

import numpy as np

from gpukit import device as devices
from gpukit._pool import alone, beside
from gpukit.imputation import scans
from gpukit.imputation.auto.gap_kinds import NEVER
from gpukit.imputation.baselines.means import level
from gpukit.imputation.baselines.series import interpolation
from gpukit.imputation.kriging.plan import MANY, MOST
from gpukit.imputation.problem import lonely


class Fold(NamedTuple):
    """hidden (N, T) bool, the problem without it, and truth (N, T): its values."""

    hidden: np.ndarray
    problem: object
    truth: np.ndarray

    def units(self, kinds):
        """(values,) int64: which hidden values err by the same chance: those of a vertex that is hidden whole, and of
        runs that begin and end together; kinds (values,)."""
        run = np.empty(len(kinds), np.int64)
        scans.runs(np.ascontiguousarray(self.hidden), run)
        vertex = np.repeat(np.arange(len(self.hidden)), np.count_nonzero(self.hidden, axis=1))
        return np.where(kinds == NEVER, vertex, len(self.hidden) + run)


class Row(NamedTuple):
    """What a method's report says. name; setting: a dict; error: on hidden values, by the metric asked for; absolute:
    the mean |error|; rms: the root of the mean squared error; spread: the standard deviation of `error` over the folds
    (NaN for one); folds: on how many it was judged; share: of the mean of methods that serves, 0 to 1."""

    name: str
    setting: dict
    error: float
    absolute: float
    rms: float
    spread: float
    folds: int
    share: float


def side_by_side(problem, methods, work, heard=lambda result: None):
    """[work(at)] for the number of each of methods, in order; heard: told of each result as it comes.

    Where threads pay, long ones have a thread each, and those that leave the GPU alone another.
    """
    calls = [functools.partial(work, at) for at in range(len(methods))]
    host = [at for at, one in enumerate(methods) if one.leaves_gpu]
    aside = [[at] for at, one in enumerate(methods) if one.long] + [host]
    aside = [some for some in aside if 0 < len(some) < len(calls)] if threads_pay(problem) else []
    begin = functools.partial(devices.gpu, problem.place.device.index) if aside else None
    with alone() if aside else contextlib.nullcontext():
        return beside(calls, aside, begin, heard)


def threads_pay(problem):
    """Whether methods work beside each other: on a GPU most of a method's time is the host's, in one thread, unless
    there are matrices for all threads of the host."""
    return problem.place.device.is_cuda and not MANY < len(problem.values) <= MOST


def filled(method, problem, setting):
    """(N, T) of a method, finite: where it knows nothing, as of columns without the order that it needs, simple()
    does; of vertices that are joined to none and have no value it is the columns' means, whatever the
    method, but for one that knows more of them."""
    if method.ordered and not problem.ordered:
        return simple(problem)
    out = np.array(method.fill(problem, setting))
    lost = ~np.isfinite(out)
    if lost.any():
        out[lost] = simple(problem)[lost]
    alone = lonely(problem)
    if alone.any() and not method.unjoined:
        out[alone] = level(problem, "columns")[alone]
    return out


def simple(problem):
    """(N, T): interpolation in time where there is an order and a vertex has any value, else means."""
    if not problem.ordered:
        return level(problem, "both")
    out, none = interpolation(problem, {}), ~problem.seen.any(axis=1)
    if none.any():
        out[none] = level(problem, "both")[none]
    return out


def error_of(residuals, metric):
    """The error of residuals: their mean absolute value, or the root of their mean square."""
    if metric == "absolute":
        return float(np.abs(residuals).mean())
    return float(np.sqrt(np.square(residuals).mean()))


def row_of(name, setting, parts, metric, share=0.0):
    """A Row of the residuals of each fold."""
    by_fold = [error_of(part, metric) for part in parts]
    whole = np.concatenate(parts)
    spread = float(np.std(by_fold, ddof=1)) if len(parts) > 1 else float("nan")
    errors = float(np.mean(by_fold)), error_of(whole, "absolute"), error_of(whole, "squared")
    return Row(name, setting, *errors, spread, len(parts), share)
