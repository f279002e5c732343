"""One tensor on its graph and device: settings decided, the tensor completed, everything that fit leaves behind."""

import warnings
from typing import NamedTuple

from gpukit import device as devices
from gpukit.device.workspace import Workspace
from gpukit.graphs.basis import fourier_basis
from gpukit.imputation import choose, inputs
from gpukit.imputation.serve import completed, filled
from gpukit.imputation.spectral.confidence import vertex_confidence
from gpukit.imputation.spectral.run import Place, Setting, stop_by_holdout

HIGH = 0.5  # of the smaller side of slices: a mean rank above it is none to rely on


class Run(NamedTuple):
    """An imputation that is about to begin: estimator.Settings, spectral.run.Place, inputs.Data."""

    settings: object
    place: Place
    data: inputs.Data

    def fitted(self, progress=None):
        """{attribute: value} of a fitted GraphImputer."""
        settings, place, data = self
        with place.workspace, devices.reported(place.device, "The imputation"):
            setting, trials, hidden = decide(settings, place, data, progress)
            outcome = completed(place, setting, data, progress)
        if not trials and hidden is None:
            warn_of_ranks(outcome.fit, min(data.tensor.shape[1:]))
        return {
            "completed_": filled(data, outcome.estimate),
            "confidence_": vertex_confidence(place.basis, data.mask),
            "history_": outcome.fit.history,
            "holdout_history_": hidden,
            "trials_": trials,
            "ranks_": outcome.fit.ranks,
            "rank_phase_": outcome.fit.rank_phase,
            "weights_": setting.weights,
            "exponent_": setting.exponent,
            "center_": setting.center,
            "options_": setting.options,
            "basis_": place.basis,
            "stages_": {"basis": place.basis.seconds, **outcome.seconds},
            "device_": str(place.device),
            "_dtype": place.dtype,
        }


def prepare(settings, device, graph, tensor, mask):
    """Run of what GraphImputer.fit takes, on a device as resolve takes it."""
    adjacency, data = inputs.on_graph(graph, tensor, mask)
    device, workspace = devices.resolve(device), Workspace()
    with devices.reported(device, f"The Fourier basis of {adjacency.shape[0]:,} vertices"):
        basis = fourier_basis(adjacency, settings.basis_size, device, workspace=workspace)
    return Run(settings, Place(basis, device, settings.dtype, workspace), data)


def warn_of_ranks(found, side):
    """Warn where ranks grew, and nothing hidden says that this was right. found: path.Fit; side: the smaller side of
    the slices."""
    rank = found.history.mean_rank[-1] if len(found.history.mean_rank) else 0.0
    if found.rank_phase != "done" and side > 1 and rank > HIGH * side:
        warnings.warn(
            f"the spectral slices ended with rank {rank:.1f} of {side} in the mean: the thresholds fell so far that "
            "hardly anything is left out, noise included. Stop where hidden values are predicted best (holdout=0.1, "
            "--holdout 0.1), take fewer iterations or a larger decay, or leave the weights to 'auto'.",
            stacklevel=4,
        )


def decide(settings, place, data, progress):
    """(Setting without 'auto', what was tried for it, history of the run on hidden data or None)."""
    setting, trials, history = Setting(settings.weights, settings.exponent, settings.center, settings.options), [], None
    if data.complete:
        return choose.plain(setting), trials, history
    if "auto" in (setting.weights, setting.center):
        setting, trials = choose.choose(place, setting, data, settings.seed, progress)
    if settings.holdout is not None:
        setting, history = stop_by_holdout(place, setting, data, settings.holdout, settings.seed, progress)
    return setting, trials, history
