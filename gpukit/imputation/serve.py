"""Completion of other tensors on the same graph by a fitted GraphImputer."""

import numpy as np

from gpukit.device.workspace import Workspace
from gpukit.graphs.column_types import inner_limits
from gpukit.imputation.auto.plan import combine_members, estimates_of
from gpukit.imputation.centering import spread
from gpukit.imputation.problem import as_problem, in_units
from gpukit.imputation.spectral.path import Fit, PathRun
from gpukit.imputation.spectral.run import Setting, impute
from gpukit.imputation.tables.window import Held, check_series, check_window, follows, join_held


def setting_of(model):
    """Return the spectral.run.Setting of a fitted GraphImputer."""
    return Setting(model.weights_, model.exponent_, model.center_, model.options_)


def transform(model, taken):
    """Complete inputs.Taken by a fitted model: (N, ...).

    Columns that continue the stored ones are completed together with them.
    """
    data, times = taken.data, taken.clock.at
    if model.plan_ is not None and not data.complete and follows(model._held, data, times):
        result, _ = complete(model, *join_held(model._held, data, times))
        return tail(result, data)
    return complete(model, data, times)[0]


def extend(model, taken, window):
    """Return (new filled columns, Held) of a model and new columns."""
    data = taken.data
    check_series(model._held, data)
    whole, times = join_held(model._held, data, taken.clock.at, check_window(window, data.tensor.shape[2]))
    result, deviation = complete(model, whole, times)
    deviation = np.full(whole.shape, np.nan) if deviation is None else deviation
    return tail(result, data), Held(result, deviation, mask_like(whole), times)


def tail(result, data):
    """Return the last columns of series (N, H) in the data's shape; observed values bitwise."""
    new = result.reshape(len(result), -1)[:, -data.tensor.shape[2] :].reshape(data.tensor.shape)
    seen = np.broadcast_to(spread(data.mask), data.tensor.shape).reshape(data.shape)
    return np.where(seen, data.given, new.reshape(data.shape).astype(data.given.dtype))


def complete(model, data, times):
    """Return (completed tensor, deviations or None) of inputs.Data by a fitted model."""
    if data.complete:
        return data.given.copy(), np.zeros(data.shape)
    settings = model._fitted_options
    with Workspace() as workspace:
        place = model.place_._replace(workspace=workspace)
        if model.plan_ is None:
            estimate = impute(place, setting_of(model), data.tensor, data.mask).estimate
            return clip_to_bounds(fill_estimate(data, estimate), data, settings), None
        problem = in_units(as_problem(model.adjacency_, data, place, settings, times), model.plan_.units)
        return combine_estimates(problem, model.plan_, estimates_of(problem, model.plan_), data, settings)


def combine_estimates(problem, plan, estimates, data, settings):
    """Return (completed tensor, deviations) of inputs.Data from estimates (N, T) by the members of a plan."""
    estimate, deviation = combine_members(problem, plan, estimates)
    estimate = estimate.reshape(data.tensor.shape)[~data.mask]
    return clip_to_bounds(fill_estimate(data, estimate), data, settings), deviation.reshape(data.shape)


def mask_like(data):
    """Return the mask of inputs.Data in the user's shape.

    A mask (N,) is unchanged.
    """
    return data.mask if data.mask.ndim == 1 else data.mask.reshape(data.shape)


def empty_fit():
    """Return a path.Fit without steps."""
    path_run = PathRun(None, True, None, None)
    return Fit(path_run.history(), path_run.ranks, "off")


def clip_to_bounds(values, data, settings):
    """Clip imputed values in place to the bounds.

    The minimum is 0 if none is set and the observed values are bounded by 0.
    """
    minimum = settings.minimum if settings.minimum is not None or not ends_at_zero(data) else 0.0
    if minimum is not None or settings.maximum is not None:
        missing = np.broadcast_to(~spread(data.mask), data.tensor.shape).reshape(values.shape)
        values[missing] = values[missing].clip(*inner_limits(np.dtype(values.dtype), minimum, settings.maximum))
    return values


def ends_at_zero(data):
    """Return True if 0 bounds the observed values.

    It is the least one and its share exceeds a thousandth: counts, rain, concentrations. A least value that is rare
    belongs to a range that may continue below it.
    """
    if data.tensor.min() < 0:
        return False
    seen = np.count_nonzero(np.broadcast_to(spread(data.mask), data.tensor.shape))
    zeros = int(np.count_nonzero(data.tensor == 0)) - (data.tensor.size - seen)
    return zeros > 1e-3 * seen


def fill_estimate(data, estimate):
    """Return the user's tensor with the estimate where values are missing.

    It is a copy.
    """
    out = data.given.copy()
    if not data.complete:
        out.reshape(data.tensor.shape)[~data.mask] = estimate
    return out
