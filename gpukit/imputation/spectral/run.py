"""Completion of tensors on one graph and one device, with given settings."""

from typing import NamedTuple

import numpy as np

from gpukit import device as devices
from gpukit.base.arrays import place_like
from gpukit.device.engine import engine
from gpukit.imputation.centering import centred, mean_of
from gpukit.imputation.distributed.share import can_share
from gpukit.imputation.spectral import holdout
from gpukit.imputation.spectral.path import Fit, Options, best_options, fit_path
from gpukit.imputation.spectral.thresholds import first_thresholds
from gpukit.timing import work_clock


class Place(NamedTuple):
    """Graph and device of a completion: basis (basis.GraphBasis), device (device.Device), dtype.

    workspace: of the current run (device.workspace.Workspace), None between runs; worker: distributed.worker.Worker of
    the ranks that share large tensors, None: this process only.
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


def start(place, setting, observed, mask, known=None):
    """Return (completion, first thresholds) of a centred tensor (N, m, n).

    It is 0 where the mask is False. known: of an earlier completion.
    """
    if place.worker is not None and can_share(observed.shape, place.basis.size, place.worker.team.size):
        from gpukit.imputation.distributed.completion import DistributedCompletion

        completion = DistributedCompletion(place.worker, place.basis, observed, mask, place.dtype)
    else:
        steps = engine(place.device, "gpukit.imputation.spectral")
        completion = steps.TensorCompletion(place.basis, observed, mask, place.dtype, place.workspace, known)
    return completion, first_thresholds(setting.weights, setting.exponent, place.basis.values, completion.largest())


def impute(place, setting, tensor, mask, hidden=None, progress=None):
    """Complete one tensor: an Outcome.

    tensor (N, m, n), 0 where missing, on the host or, as cupy's, on the place's GPU, where the estimate is then too;
    mask (N,) or (N, m, n) bool, on the host. hidden: a mask of additional entries to hide: the history then has the
    error there, and the estimate covers the missing entries of both masks.
    """
    parts = holdout.Split(mask, None) if hidden is None else holdout.Split(mask & ~hidden, hidden)
    mean = mean_of(tensor, parts.observed, setting.center)
    watch = None if hidden is None else holdout.watcher(centred(tensor, mask, mean), parts)
    sizes = "{:,} slices of {} x {}".format(*tensor.shape)
    with devices.reported(place.device, f"Imputing {sizes}"):
        begun = work_clock()
        completion, first = start(place, setting, centred(tensor, parts.observed, mean), parts.observed)
        fit = fit_path(completion, first, setting.options, watch, progress)
        estimate = completion.missing()
    seconds = {"iterations": work_clock() - begun, **getattr(completion, "seconds", {})}
    return Outcome(added(estimate, mean, parts.observed), fit, seconds)


def added(estimate, mean, mask):
    """Return the estimate plus the mean (m, n)."""
    mean = place_like(mean, estimate)
    if mask.ndim == 1:
        return estimate + mean
    return estimate + np.broadcast_to(mean, mask.shape)[place_like(~mask, estimate)]


def stop_by_holdout(place, setting, data, share, seed, progress=None):
    """Return (setting with the best stopping point, history).

    The error is measured on a hidden share; the history is that of this run. data: inputs.Data.
    """
    hidden = holdout.split(data.mask, share, seed).hidden
    history = impute(place, setting, data.tensor, data.mask, hidden, progress).fit.history
    return setting._replace(options=best_options(history, setting.options)), history
