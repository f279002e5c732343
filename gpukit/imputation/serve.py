"""What a fitted GraphImputer does: it completes other tensors on the same graph."""

import numpy as np

from gpukit.device.workspace import Workspace
from gpukit.imputation.spectral.path import Fit, Walk
from gpukit.imputation.spectral.run import Outcome, Setting, impute


def setting_of(model):
    """spectral.run.Setting of a fitted GraphImputer: what was decided."""
    return Setting(model.weights_, model.exponent_, model.center_, model.options_)


def transform(model, data):
    """The completed tensor of inputs.Data, by a fitted model."""
    with Workspace() as workspace:
        place = model.place_._replace(workspace=workspace)
        return filled(data, completed(place, setting_of(model), data, None).estimate)


def completed(place, setting, data, progress):
    """Outcome for inputs.Data; nothing is done where nothing is missing."""
    if data.complete:
        nothing = Walk(None, True, None, None)
        return Outcome(np.zeros(0), Fit(nothing.history(), nothing.ranks, "off"), {})
    return impute(place, setting, data.tensor, data.mask, progress=progress)


def filled(data, estimate):
    """A copy of the tensor as it was handed in, with the estimate where something is missing."""
    out = data.given.copy()
    if not data.complete:
        out.reshape(data.tensor.shape)[~data.mask] = estimate
    return out
