"""What a fitted GraphImputer does: it completes other tensors on the same graph."""

import numpy as np

from gpukit.device.workspace import Workspace
from gpukit.imputation.centering import spread
from gpukit.imputation.problem import as_problem
from gpukit.imputation.spectral.path import Fit, Walk
from gpukit.imputation.spectral.run import Outcome, Setting, impute


def setting_of(model):
    """spectral.run.Setting of a fitted GraphImputer: what was decided."""
    return Setting(model.weights_, model.exponent_, model.center_, model.options_)


def transform(model, data, times=None):
    """The completed tensor of inputs.Data, by a fitted model."""
    settings = model._asked
    with Workspace() as workspace:
        place = model.place_._replace(workspace=workspace)
        if model.plan_ is None or data.complete:
            estimate = completed(place, setting_of(model), data, None).estimate
        else:
            estimate = planned_estimate(model, data, place, settings, times)
        return bounded(filled(data, estimate), data, settings)


def planned_estimate(model, data, place, settings, times):
    """What a fitted model's plan puts where something is missing."""
    from gpukit.imputation.auto.plan import estimates_of, joined

    problem = as_problem(model.adjacency_, data, place, settings, times)
    found = joined(problem, model.plan_, estimates_of(problem, model.plan_)).estimate
    found = found.reshape(data.tensor.shape)
    return found[~data.mask]


def completed(place, setting, data, progress):
    """Outcome for inputs.Data; nothing is done where nothing is missing."""
    if data.complete:
        return Outcome(np.zeros(0), nothing(), {})
    return impute(place, setting, data.tensor, data.mask, progress=progress)


def nothing():
    """The path.Fit of no step."""
    walk = Walk(None, True, None, None)
    return Fit(walk.history(), walk.ranks, "off")


def bounded(values, data, settings):
    """values, in place, within the bounds asked for where something was missing."""
    if settings.minimum is not None or settings.maximum is not None:
        missing = np.broadcast_to(~spread(data.mask), data.tensor.shape).reshape(values.shape)
        values[missing] = np.clip(values[missing], settings.minimum, settings.maximum)
    return values


def filled(data, estimate):
    """A copy of the tensor as it was handed in, with the estimate where something is missing."""
    out = data.given.copy()
    if not data.complete:
        out.reshape(data.tensor.shape)[~data.mask] = estimate
    return out
