"""Iterations: a path of falling thresholds, then a phase of fixed ranks that removes the thresholds' bias.

The thresholds of the slices are lambda_k^1 at first, then lambda^(j+1) = c lambda^j. The rank of a slice, if it is
clear, is at the largest ratio of adjacent singular values.
"""

import contextlib
from typing import Literal, NamedTuple, get_args

import numpy as np

from gpukit.base import check_choice
from gpukit.imputation.constants import FREQUENCY_FLOOR, PATH_END


class Options(NamedTuple):
    """Options of a path; see estimator.GraphImputer.

    decay: None for a path that ends at a thousandth of its start.
    """

    iterations: int = 20
    decay: float | None = None
    tolerance: float = 1e-8
    accelerate: bool = True
    rank_phase: bool = True
    rank_iterations: int = 100


class History(NamedTuple):
    """Values by iteration.

    phase      (n,) '<U4', "path" or "rank"
    scale      (n,) float64, lambda relative to its start; 0 in the rank phase
    threshold  (n,) float64, the largest lambda of a slice
    mean_rank  (n,) float64, max_rank (n,) int64: ranks of the spectral slices after thresholding
    change     (n,) float64, ||new - old||^2 / ||new||^2 over the missing entries
    error      (n,) float64, hold-out error; NaN without held-out values
    """

    phase: np.ndarray
    scale: np.ndarray
    threshold: np.ndarray
    mean_rank: np.ndarray
    max_rank: np.ndarray
    change: np.ndarray
    error: np.ndarray


class Fit(NamedTuple):
    """history; ranks (K,) int32 of the last iteration; rank_phase.

    rank_phase: "done", "off" (disabled), "unclear" (no clear rank), "none" (slices have one singular value).
    """

    history: History
    ranks: np.ndarray
    rank_phase: str


class PathEnd(Exception):
    """Signal to end a path on hidden data."""


def fit_path(completion, first, options, watch=None, progress=None):
    """Run the path, then the phase of fixed ranks: a Fit.

    first (K,): lambda^1. The estimate is in the completion. options: Options. watch: called with the completion after
    every iteration, returns a hold-out error or raises PathEnd. progress: called as progress("path" | "rank", done,
    total, info) with info {"change", "rank"}.
    """
    path_run, outcome = PathRun(completion, options.accelerate, watch, progress), "off"
    with contextlib.suppress(PathEnd):
        follow_path(path_run, first, options)
        outcome = project_to_ranks(path_run, first, options) if options.rank_phase else "off"
    return Fit(path_run.history(), path_run.ranks, outcome)


def best_options(history, options):
    """Return Options that stop at a history's least hold-out error; a path keeps its decay."""
    best = int(np.nanargmin(history.error))
    decay = decay_of(options)
    path = int((history.phase == "path").sum())
    if best < path:
        return options._replace(iterations=best + 1, decay=decay, rank_phase=False, tolerance=0.0)
    return options._replace(iterations=path, decay=decay, rank_iterations=best + 1 - path, tolerance=0.0)


def decay_of(options, end=PATH_END):
    """Return the factor of lambda per step; end: of a path without a decay, relative to its start."""
    return end ** (1.0 / options.iterations) if options.decay is None else options.decay


def follow_path(path_run, first, options):
    """Run a step for each lambda, downwards; accelerated, lambda waits while the estimate lags behind."""
    wait = 2.0  # relative change per lambda's share above which lambda waits; chosen
    decay, scale = decay_of(options), 1.0
    for _ in range(options.iterations):
        change = path_run.step("path", options.iterations, first * scale, None, scale)
        if 0 < change <= options.tolerance:
            break
        if not options.accelerate or scale == 1.0 or change <= (wait * scale) ** 2:
            scale *= decay


def project_to_ranks(path_run, first, options):
    """Project to the rank of each slice; slices without a clear rank keep the last lambda."""
    precision = 1e-4  # times the tolerance: convergence is linear
    completion = path_run.completion
    count = count_leading(min(completion.shape))
    if not count:
        return "none"
    chosen = choose_ranks(completion.spectrum(count), completion.rounding)
    if not chosen.clear:
        return "unclear"
    last = path_run.rows[-1]["scale"] if path_run.rows else 1.0
    lam = np.where(chosen.is_clear, 0.0, first * last)
    cap = np.where(chosen.is_clear, chosen.ranks, min(completion.shape)).astype(np.int32)
    path_run.rest()
    for _ in range(options.rank_iterations):
        if path_run.step("rank", options.rank_iterations, lam, cap, 0.0) <= options.tolerance * precision:
            break
    return "done"


class PathRun:
    """Steps of a completion with momentum, and their records."""

    def __init__(self, completion, accelerate, watch, progress):
        self.completion, self.accelerate, self.watch, self.progress = completion, accelerate, watch, progress
        self.t, self.rows, self.ranks = 1.0, [], np.zeros(0, np.int32)

    def rest(self):
        """Reset the momentum."""
        self.t = 1.0

    def step(self, phase, total, lam, cap, scale):
        """Run one iteration; return its relative change."""
        self.t, momentum = next_momentum(self.t)
        change, size, self.ranks = self.completion.step(lam, cap, momentum if self.accelerate else 0.0)
        relative = change / size if size > 0 else float(change > 0)
        error = self.watch(self.completion) if self.watch else np.nan
        row = {
            "phase": phase,
            "scale": scale,
            "threshold": float(lam.max()),
            "mean_rank": float(self.ranks.mean()),
            "max_rank": int(self.ranks.max()),
            "change": relative,
            "error": error,
        }
        self.rows.append(row)
        if self.progress:
            done = sum(other["phase"] == phase for other in self.rows)
            self.progress(phase, done, total, {"change": relative, "rank": row["mean_rank"]})
        return relative

    def history(self):
        """Return the History of the steps so far."""
        kinds = {"phase": "<U4", "max_rank": np.int64}
        return History(
            *(np.array([row[name] for row in self.rows], kinds.get(name, np.float64)) for name in History._fields)
        )


Weights = Literal["slice", "common", "frequency"]
WEIGHTS = get_args(Weights)


def first_thresholds(weights, exponent, frequencies, largest):
    """Return lambda^1 (K,) float64.

    frequencies (K,): the Laplacian's eigenvalues, ascending; largest (K,): the largest singular value of each spectral
    slice. weights: 'slice', its own largest (Algorithm 1 of the graph-tensor imputation paper); 'common', the largest
    of all; 'frequency', the least multiple of (0.05 + mu_k / mu_max)^exponent that no singular value exceeds.
    """
    check_choice("weights", weights, WEIGHTS)
    if weights == "slice":
        return largest.astype(np.float64)
    if weights == "common":
        return np.full(len(largest), float(largest.max()))
    weight = (FREQUENCY_FLOOR + frequencies / max(float(frequencies.max()), 1e-300)) ** exponent
    return weight * float((largest / weight).max())


def next_momentum(t):
    """Return (t', beta): next t and weight of the last step in y = x + beta (x - x_before); t = 1 at first.

    Source: Beck and Teboulle, "A fast iterative shrinkage-thresholding algorithm" (2009), Eq. (4.2)-(4.3).
    """
    following = (1.0 + (1.0 + 4.0 * t * t) ** 0.5) / 2.0
    return following, (t - 1.0) / following


class Ranks(NamedTuple):
    """ranks (K,) int32; is_clear (K,) bool: slices with a clear rank; clear: True if enough slices have one."""

    ranks: np.ndarray
    is_clear: np.ndarray
    clear: bool


def count_leading(smaller):
    """Return the number of leading singular values that determine a rank; 0 for slices with one value.

    The ratios grow again towards the last values of a full-rank slice, so only ranks up to half the side are
    considered.
    """
    return smaller // 2 + 1 if smaller > 1 else 0


def choose_ranks(values, rounding):
    """Return Ranks from leading singular values (K, count), descending.

    rounding: the values' relative error. Slices that are zero up to rounding get rank 0 and are ignored. If the slices
    share one rank, slices without observations, which contain mostly errors of others, get it too.
    """
    clear_ratio, clear_share = 3.0, 0.8  # least ratio of a clear rank; share of slices with one if none is common; test
    dissent = 0.75  # power of the usual ratio: slices with a less clear other rank get the common one; test
    floor = max(float(values.max()) * rounding, 1e-300)
    alive = values[:, 0] > floor
    ratios = np.maximum(values[:, :-1], floor) / np.maximum(values[:, 1:], floor)
    ranks = np.where(alive, ratios.argmax(axis=1) + 1, 0).astype(np.int32)
    is_clear = ~alive | stands_out(ratios, clear_ratio)
    common = common_rank(ratios[alive])
    if common:
        largest = ratios.max(axis=1)
        usual = np.median(largest[ranks == common]) if (ranks == common).any() else np.inf
        ranks[alive & (largest < usual**dissent)] = common
        is_clear |= ranks == common
        return Ranks(ranks, is_clear, True)
    return Ranks(ranks, is_clear, bool(alive.any() and is_clear[alive].mean() >= clear_share))


def common_rank(ratios):
    """Return the common rank of the slices; 0 if there is none."""
    if not len(ratios):
        return 0
    together = np.exp(np.log(ratios).mean(axis=0, keepdims=True))
    return int(together.argmax()) + 1 if stands_out(together)[0] else 0


def stands_out(ratios, clear=None):
    """Return (K,) bool: True if the largest of (K, count) ratios is clear and clearly larger than the others."""
    distinct = 2.0  # least ratio to the next one, and least mean ratio of a common rank; test
    clear = clear or distinct
    ordered = np.sort(ratios, axis=1)
    least = clear if ratios.shape[1] == 1 else np.maximum(clear, distinct * ordered[:, -2])
    return ordered[:, -1] >= least
