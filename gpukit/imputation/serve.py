"""What GraphImputer does: settings decided, the tensor completed, everything that fit leaves behind."""

import warnings

import numpy as np

from gpukit.graphs.basis import fourier_basis
from gpukit.imputation.spectral.confidence import vertex_confidence
from gpukit.imputation.spectral.path import Fit, Walk
from gpukit.imputation.spectral.run import Outcome, Place, Setting, impute, stop_by_holdout

HIGH = 0.5  # of the smaller side of slices: a mean rank above it is none to rely on


def count_for(graph, tensor):
    """N for a list of edges, whose last vertices may have none: the tensor's; None where the graph tells."""
    square = hasattr(graph, "shape") and len(graph.shape) == 2 and graph.shape[0] == graph.shape[1]
    return None if square or not np.ndim(tensor) else len(tensor)


def fit(settings, device, adjacency, data, progress):
    """{attribute: value} of a fitted GraphImputer."""
    basis = fourier_basis(adjacency, settings.basis_size, device)
    place = Place(basis, device, settings.dtype)
    setting, trials, hidden = decide(settings, place, data, progress)
    outcome = complete(place, setting, data, progress)
    if not trials and hidden is None:
        warn_of_ranks(outcome.fit, min(data.tensor.shape[1:]))
    return {
        "completed_": filled(data, outcome.estimate),
        "confidence_": vertex_confidence(basis, data.mask),
        "history_": outcome.fit.history,
        "holdout_history_": hidden,
        "trials_": trials,
        "ranks_": outcome.fit.ranks,
        "rank_phase_": outcome.fit.rank_phase,
        "weights_": setting.weights,
        "exponent_": setting.exponent,
        "center_": setting.center,
        "options_": setting.options,
        "basis_": basis,
        "stages_": {"basis": basis.seconds, **outcome.seconds},
        "device_": str(device),
        "place_": place,
    }


def warn_of_ranks(found, side):
    """Warn where ranks grew, and nothing hidden says that this was right. found: fitting.Fit; side: the smaller side of
    the slices."""
    rank = found.history.mean_rank[-1] if len(found.history.mean_rank) else 0.0
    if found.rank_phase != "done" and side > 1 and rank > HIGH * side:
        warnings.warn(
            f"the spectral slices ended with rank {rank:.1f} of {side} in the mean: the thresholds fell so far that "
            "hardly anything is left out, noise included. Stop where hidden values are predicted best (holdout=0.1, "
            "--holdout 0.1), take fewer iterations or a larger decay, or leave the weights to 'auto'.",
            stacklevel=4,
        )


def transform(model, data):
    """The completed tensor of Data, by a fitted model."""
    setting = Setting(model.weights_, model.exponent_, model.center_, model.options_)
    return filled(data, complete(model.place_, setting, data, None).estimate)


def decide(settings, place, data, progress):
    """(Setting without 'auto', what was tried for it, history of the run on hidden data or None)."""
    from gpukit.imputation import choose

    setting, trials, history = Setting(*settings[:3], settings.options), [], None
    if data.complete:
        return choose.plain(setting), trials, history
    if "auto" in (setting.weights, setting.center):
        setting, trials = choose.choose(place, setting, data, settings.seed, progress)
    if settings.holdout is not None:
        setting, history = stop_by_holdout(place, setting, data, settings.holdout, settings.seed, progress)
    return setting, trials, history


def complete(place, setting, data, progress):
    """Outcome for Data; nothing is done where nothing is missing."""
    if data.complete:
        nothing = Walk(None, True, None, None)
        return Outcome(np.zeros(0), Fit(nothing.history(), nothing.ranks, "off"), {})
    return impute(place, setting, data.tensor, data.mask, progress=progress)


def filled(data, estimate):
    """The tensor as it was handed in, new, with the estimate where something is missing."""
    out = data.given.copy()
    if not data.complete:
        out.reshape(data.tensor.shape)[~data.mask] = estimate
    return out
