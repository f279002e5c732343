"""What a fitted GraphImputer does: it completes other tensors on the same graph."""

import numpy as np

from gpukit.base.arrays import beside
from gpukit.device.workspace import Workspace
from gpukit.graphs.column_types import inner_limits
from gpukit.imputation.centering import spread
from gpukit.imputation.problem import as_problem
from gpukit.imputation.spectral.path import Fit, Walk
from gpukit.imputation.spectral.run import Outcome, Setting, impute
from gpukit.imputation.tables.window import Held, check_series, check_window, follows, joined
from gpukit.imputation.units import in_units

FLOOR = 1e-3  # of what is observed: more zeros, with nothing below them, are a bound


def setting_of(model):
    """spectral.run.Setting of a fitted GraphImputer: what was decided."""
    return Setting(model.weights_, model.exponent_, model.center_, model.options_)


def transform(model, taken):
    """(N, ...) completed, of inputs.Taken, by a fitted model: beside the columns that it holds, where these precede."""
    data, at = taken.data, taken.clock.at
    if model.plan_ is not None and not data.complete and follows(model._held, data, at):
        return tail(planned(model, *joined(model._held, data, at)).filled, data)
    if model.plan_ is not None and not data.complete:
        return planned(model, data, at).filled
    with Workspace() as workspace:
        place = model.place_._replace(workspace=workspace)
        estimate = completed(place, setting_of(model), data, None).estimate
    return bounded(filled(data, estimate), data, model._asked)


def extend(model, taken, window):
    """(filled part that is new, Held) of a fitted model and new columns."""
    data = taken.data
    check_series(model._held, data)
    whole, at = joined(model._held, data, taken.clock.at, check_window(window, data.tensor.shape[2]))
    if model.plan_ is None and not whole.complete:
        with Workspace() as workspace:
            place = model.place_._replace(workspace=workspace)
            estimate = completed(place, setting_of(model), whole, None).estimate
        found = Held(
            bounded(filled(whole, estimate), whole, model._asked), np.full(whole.shape, np.nan), mask_like(whole), at
        )
    else:
        found = planned(model, whole, at)
    return tail(found.filled, data), found


def tail(found, data):
    """The last columns of series (N, H), as many as data have, in their shape; observed values to the bit."""
    new = found.reshape(len(found), -1)[:, -data.tensor.shape[2] :].reshape(data.tensor.shape)
    seen = np.broadcast_to(spread(data.mask), data.tensor.shape).reshape(data.shape)
    return np.where(seen, data.given, new.reshape(data.shape).astype(data.given.dtype))


def planned(model, data, at):
    """The Held of inputs.Data, filled in by a fitted model's plan."""
    from gpukit.imputation.auto.plan import combine_members as mixed
    from gpukit.imputation.auto.plan import estimates_of

    settings = model._asked
    if data.complete:
        return Held(data.given.copy(), np.zeros(data.shape), mask_like(data), at)
    with Workspace() as workspace:
        place = model.place_._replace(workspace=workspace)
        problem = in_units(as_problem(model.adjacency_, data, place, settings, at), model.plan_.units)
        found = mixed(problem, model.plan_, estimates_of(problem, model.plan_))
    estimate = found.estimate.reshape(data.tensor.shape)[~data.mask]
    out = bounded(filled(data, estimate), data, settings)
    return Held(out, found.deviation.reshape(data.shape), mask_like(data), at)


def mask_like(data):
    """The mask (N,) of inputs.Data, or that of entries in the shape of the tensor as it was handed in."""
    return data.mask if data.mask.ndim == 1 else data.mask.reshape(data.shape)


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
    """values, in place, within the bounds asked for where something was missing; not below 0 where no minimum is
    asked for and what is observed ends there."""
    minimum = settings.minimum if settings.minimum is not None or not ends_at_zero(data) else 0.0
    if minimum is not None or settings.maximum is not None:
        missing = beside(np.broadcast_to(~spread(data.mask), data.tensor.shape).reshape(values.shape), values)
        values[missing] = values[missing].clip(*inner_limits(np.dtype(values.dtype), minimum, settings.maximum))
    return values


def ends_at_zero(data):
    """Whether 0 is the least of what is observed and more than one value in a thousand: counts, rain, concentrations.
    A least value that hardly any other shares is that of a range which may go on."""
    if data.tensor.min() < 0:
        return False
    seen = np.count_nonzero(np.broadcast_to(spread(data.mask), data.tensor.shape))
    zeros = int(np.count_nonzero(data.tensor == 0)) - (data.tensor.size - seen)
    return zeros > FLOOR * seen


def filled(data, estimate):
    """A copy of the tensor as it was handed in, with the estimate where something is missing."""
    out = data.given.copy()
    if not data.complete:
        out.reshape(data.tensor.shape)[beside(~data.mask, out)] = estimate
    return out
