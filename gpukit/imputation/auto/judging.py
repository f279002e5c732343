"""Errors of methods on hidden values, and kinds of missing values, by distance to the nearest observed value.

Values of one kind have similar errors; they are judged and mixed together.
"""

import contextlib
import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gpukit import device as devices
from gpukit._pool import map_row_blocks, run_on_threads, single_threaded_blas
from gpukit.imputation import scans
from gpukit.imputation.constants import KRIGING_GRID_VERTICES, KRIGING_VERTICES
from gpukit.imputation.problem import lonely
from gpukit.imputation.simple import interpolation, level
from gpukit.model_selection.search import Search
from gpukit.model_selection.trial import Trial


class Fold(NamedTuple):
    """A fold: hidden (N, T) bool, the problem without these values, and truth (N, T)."""

    hidden: np.ndarray
    problem: object
    truth: np.ndarray

    def units(self, kinds):
        """Return (values,) int64: the independent unit of each hidden value.

        A unit is a vertex hidden whole, or the runs that begin and end together. kinds (values,).
        """
        row, first, end = scans.runs(self.hidden)
        run = len(self.hidden) + first * self.hidden.shape[1] + end - 1
        return np.where(kinds == NEVER, *(np.repeat(unit, end - first) for unit in (row, run)))


@dataclass(eq=False)
class Candidate:
    """A method and its setting; equal only to itself, because settings contain lists."""

    method: object
    setting: dict

    @property
    def name(self):
        """Name of the method."""
        return self.method.name


def start_search(folds, metric):
    """Return a Search of Candidates on Folds.

    The row of a Trial has the estimates, [(N, T) float32], and the residuals, [(values,)], of its folds.
    """

    def evaluate(fold, candidate):
        return finite_estimate(candidate.method, fold.problem, candidate.setting).astype(np.float32)

    def summarize(candidate, estimates):
        residuals = [(estimate - fold.truth)[fold.hidden] for estimate, fold in zip(estimates, folds)]
        sizes = np.abs(np.concatenate(residuals))
        scores = -(sizes if metric == "absolute" else np.square(sizes))
        return Trial(candidate, scores, {"estimates": estimates, "residuals": residuals})

    return Search([functools.partial(evaluate, fold) for fold in folds], summarize)


class Row(NamedTuple):
    """A row of the report.

    name: method. setting: dict. error: on hidden values, by the selected metric. absolute: mean |error|. rms: root
    mean square error. spread: standard deviation of `error` over the folds, NaN for one. folds: number of folds.
    share: weight in the final mean, 0 to 1.
    """

    name: str
    setting: dict
    error: float
    absolute: float
    rms: float
    spread: float
    folds: int
    share: float


def run_concurrently(problem, methods, work, on_result=lambda result: None):
    """Return [work(index)] for each method, in order; call on_result with each result.

    If threads pay off, methods without GPU computation run in a thread of their own.
    """
    calls = [functools.partial(work, index) for index in range(len(methods))]
    host = [index for index, method in enumerate(methods) if method.host]
    # On a GPU a method spends most time in one host thread, unless its matrices are large enough for all of them.
    is_apart = problem.place.device.is_cuda and not KRIGING_GRID_VERTICES < len(problem.values) <= KRIGING_VERTICES
    groups = [host] if 0 < len(host) < len(calls) and is_apart else []
    initialize = functools.partial(devices.gpu, problem.place.device.index) if groups else None
    with single_threaded_blas() if groups else contextlib.nullcontext():
        return run_on_threads(calls, groups, initialize, on_result)


def finite_estimate(method, problem, setting):
    """Return the finite estimate (N, T) of a method.

    Entries without an estimate, as in columns without the order that the method needs, are filled by simple().
    Isolated vertices without observed values take the columns' means, unless the method handles them (unjoined).
    """
    if method.ordered and not problem.ordered:
        return simple_estimate(problem)
    out = np.require(method.fill(problem, setting), requirements="W")
    undefined = ~np.isfinite(out)
    rows = undefined.any(axis=1)
    if rows.any():
        out[undefined] = simple_estimate(problem, rows)[undefined[rows]]
    isolated = lonely(problem)
    if isolated.any() and not method.unjoined:
        out[isolated] = level(problem, "columns")[isolated]
    return out


def simple_estimate(problem, rows=slice(None), dtype=np.float64):
    """Return (n, T) of some rows: interpolation in time, or means without an order or an observed value."""
    if not problem.ordered:
        return level(problem, "both")[rows].astype(dtype, copy=False)
    out = interpolation(problem._replace(values=problem.values[rows], seen=problem.seen[rows]), {}, dtype)
    unobserved = ~problem.seen[rows].any(axis=1)
    if unobserved.any():
        out[unobserved] = level(problem, "both")[rows][unobserved]
    return out


def error_of(residuals, metric):
    """Return the mean absolute or root mean square error of residuals."""
    if metric == "absolute":
        return float(np.abs(residuals).mean())
    return float(np.sqrt(np.square(residuals).mean()))


def row_of(name, setting, parts, metric, share=0.0):
    """Return a Row of the residuals of each fold."""
    by_fold = [error_of(part, metric) for part in parts]
    residuals = np.concatenate(parts)
    spread = float(np.std(by_fold, ddof=1)) if len(parts) > 1 else float("nan")
    errors = float(np.mean(by_fold)), error_of(residuals, "absolute"), error_of(residuals, "squared")
    return Row(name, setting, *errors, spread, len(parts), share)


GAP_DISTANCES = (1, 2, 4, 8, 16, 32)  # columns to the nearest observed value, by kind of gap; chosen
NEVER, ALWAYS = 0, 1  # a vertex without observed values; columns without an order
KINDS = 2 + len(GAP_DISTANCES) + 1
GROUPS = np.array([0, 2, 1, 1] + [2] * (KINDS - 4))  # by kind: whole vertex, next to an observed value, other


def kinds(problem):
    """Return the kind of every entry, observed or not, as (N, T) int8.

    NEVER, ALWAYS, or 2 and more by the distance in columns.
    """
    out = np.full(problem.seen.shape, ALWAYS, np.int8)
    by_distance = (2 + np.searchsorted(GAP_DISTANCES, np.arange(out.shape[1] + 1))).astype(np.int8)

    def fill_rows(rows):
        out[rows] = by_distance[scans.distances(problem.seen[rows])]

    if problem.ordered:
        map_row_blocks(fill_rows, out.shape)
    out[~problem.seen.any(axis=1)] = NEVER
    return out
