"""Completion of tensors on one graph and one device, with given settings; values hidden to measure errors."""

import math
from typing import NamedTuple

import numpy as np

from gpukit import device as devices
from gpukit._pool import map_row_blocks
from gpukit.device.engine import engine
from gpukit.errors import DataError
from gpukit.imputation.distributed.share import can_share
from gpukit.imputation.problem import centre_tensor, mean_of
from gpukit.imputation.spectral.path import Fit, Options, PathEnd, first_thresholds, fit_path
from gpukit.streams import Numpy
from gpukit.timing import work_clock


class Place(NamedTuple):
    """Graph and device of a completion: basis (basis.GraphBasis), device (device.Device), dtype.

    workspace: of the current run (device.workspace.Workspace), None between runs; worker: distributed.completion.Worker
    of the ranks that share large tensors, None: this process only.
    """

    basis: object
    device: object
    dtype: object
    workspace: object = None
    worker: object = None

    @property
    def alone(self):
        """Place without other ranks."""
        return self._replace(worker=None)


class Setting(NamedTuple):
    """weights 'slice', 'common' or 'frequency' with its exponent; center 'none', 'global' or 'entry'; path.Options."""

    weights: str
    exponent: float
    center: str
    options: Options


class Outcome(NamedTuple):
    """estimate: the missing values in the order of tensor[~mask]; fit (path.Fit); seconds: {stage: seconds}."""

    estimate: np.ndarray
    fit: Fit
    seconds: dict


def start(place, setting, observed, mask):
    """Return (completion, first thresholds) of a centred tensor (N, m, n).

    It is 0 where the mask is False.
    """
    if place.worker is not None and can_share(observed.shape, place.basis.size, place.worker.team.size):
        from gpukit.imputation.distributed.completion import DistributedCompletion

        completion = DistributedCompletion(place.worker, place.basis, observed, mask, place.dtype)
    else:
        steps = engine(place.device, "gpukit.imputation.spectral")
        completion = steps.TensorCompletion(place.basis, observed, mask, place.dtype, place.workspace)
    return completion, first_thresholds(setting.weights, setting.exponent, place.basis.values, completion.largest())


def impute(place, setting, tensor, mask, hidden=None, progress=None, stopping=None):
    """Complete one tensor: an Outcome.

    tensor (N, m, n), 0 where missing; mask (N,) or (N, m, n) bool. hidden: a mask of additional entries to hide: the
    history then has the error there, and the estimate covers the missing entries of both masks. stopping: EarlyStopping
    by these errors, or None.
    """
    parts = Split(mask, None) if hidden is None else Split(mask & ~hidden, hidden)
    mean = mean_of(tensor, parts.observed, setting.center)
    observed = centre_tensor(tensor, parts.observed, mean)
    unit = unit_of(observed)
    watch = None if hidden is None else watcher(centre_tensor(tensor, mask, mean), parts, unit, stopping)
    sizes = "{:,} slices of {} x {}".format(*tensor.shape)
    with devices.translate_memory_errors(place.device, f"Imputing {sizes}"):
        started = work_clock()
        completion, first = start(place, setting, in_units(observed, unit), parts.observed)
        fit = fit_path(completion, first, setting.options, watch, progress)
        estimate = out_of_units(completion.missing(), unit, tensor.dtype)
    history = fit.history._replace(threshold=fit.history.threshold / unit)
    seconds = {"iterations": work_clock() - started, **getattr(completion, "seconds", {})}
    return Outcome(add_mean(estimate, mean, parts.observed), fit._replace(history=history), seconds)


def unit_of(observed):
    """Return the power of two that scales observed numbers: 1 except for very large and very small ones."""
    largest = float(max(observed.max(), -observed.min()))
    usual = 2.0**40  # numbers up to it, and from its inverse, need no scaling
    if largest == 0 or 1 / usual <= largest <= usual:
        return 1.0
    most = np.finfo(observed.dtype).maxexp - 2
    return 2.0 ** -max(-most, min(most, math.frexp(largest)[1]))


def in_units(observed, unit):
    """Return the observed numbers times their unit; the array itself for 1."""
    return observed if unit == 1 else observed * observed.dtype.type(unit)


def out_of_units(result, unit, dtype):
    """Return an estimate without its unit."""
    return result if unit == 1 else result.astype(dtype) / dtype.type(unit)


def add_mean(estimate, mean, mask):
    """Return the estimate plus the mean (m, n)."""
    if mask.ndim == 1:
        return estimate + mean
    return estimate + np.broadcast_to(mean, mask.shape)[~mask]


class Split(NamedTuple):
    """observed, hidden: masks of one shape, (N,) or (N, m, n); together the observed values."""

    observed: np.ndarray
    hidden: np.ndarray


def split(mask, share, seed, order=None):
    """Hide a share of the observed values: a Split.

    Values are hidden in the pattern of the missing ones. mask (N,) or (N, m, n) bool, True = observed; share, more than
    0 and less than 1. Whole vertices are hidden if most missing values belong to vertices without observations, else
    single entries. The same seed hides the same entries. order (N,): order of the vertices in which they are drawn.
    Raises DataError when nothing would be hidden or nothing left.
    """
    if order is not None:
        position = np.argsort(order)
        return Split(*(part[position] for part in split(mask[order], share, seed)))
    observed_vertices = mask if mask.ndim == 1 else mask.reshape(len(mask), -1).any(axis=1)
    vertices = mask.ndim == 1 or 2 * (~observed_vertices).sum() * mask[0].size > (~mask).sum()
    positions = np.flatnonzero(observed_vertices if vertices else mask)
    count = max(1, round(share * len(positions)))
    if count >= len(positions):
        kind = "vertices" if vertices else "entries"
        raise DataError(
            f"hiding a share of {share:g} of {len(positions)} observed {kind} leaves no values to impute from."
        )
    chosen = np.random.default_rng([seed, Numpy.HELD_OUT_ENTRIES[0]]).permutation(positions)[:count]
    hidden = np.zeros(mask.shape, bool)  # in C order: written through a flat view
    if vertices:
        hidden[chosen] = mask[chosen]
    else:
        hidden.reshape(-1)[chosen] = True
    return Split(mask & ~hidden, hidden)


def watcher(tensor, parts, unit, stopping=None):
    """Return a function of a completion over parts.observed: the mean absolute error on hidden values.

    tensor (N, m, n): centred like the completion's tensor, which is in a unit. stopping: see impute; PathEnd is raised
    where it ends.
    """
    truth, hidden_missing = tensor[parts.hidden], parts.hidden[~parts.observed]

    def watch(completion):
        estimate = out_of_units(completion.missing(), unit, tensor.dtype)[hidden_missing]
        error = float(np.abs(estimate - truth).mean(dtype=np.float64))
        if stopping is not None and stopping.is_over(error):
            raise PathEnd
        return error

    return watch


def slice_scores(basis, lacking):
    """Return (K,) float64, 0 to 1: the missing share of each spectral slice.

    basis: basis.Basis, N vertices and K slices; lacking (N,): missing_shares of a mask.
    """
    rows = np.flatnonzero(lacking)
    result = map_squares(basis.vectors, rows, lambda batch, squares: lacking[batch] @ squares)
    return np.clip(sum(result, np.zeros(len(basis.values))), 0.0, 1.0)


def map_squares(vectors, rows, work):
    """Return [work(rows, squares of their vectors)] for blocks of rows, in parallel."""

    def part(few):
        return work(rows[few], np.square(vectors[rows[few]]))

    return map_row_blocks(part, (len(rows), vectors.shape[1]))


def vertex_confidence(basis, lacking):
    """Return (N,) float64, 0 to 1: confidence of each vertex; 1 for complete vertices.

    It depends on the graph and the mask alone: 1 - w_i (1 - sum over k of U_ik^2 (1 - score_k^16)). A slice of low rank
    is recovered well if a part of it is missing, but not if its basis vector is concentrated on missing vertices. The
    power 16 had the best mean rank correlation with actual errors of 15 such models. basis, lacking: as slice_scores
    takes them.
    """
    rows = np.flatnonzero(lacking)
    result = 1.0 - slice_scores(basis, lacking) ** 16
    confidence = np.ones(len(lacking))
    for batch, share in map_squares(basis.vectors, rows, lambda batch, squares: (batch, squares @ result)):
        confidence[batch] -= lacking[batch] * (1.0 - share)
    return np.clip(confidence, 0.0, 1.0)


def missing_shares(mask):
    """Return (N,) float64: the missing share of each vertex; mask (N,) or (N, ...) bool, True = observed."""
    return 1.0 - mask.reshape(len(mask), -1).mean(axis=1)
