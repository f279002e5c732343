"""Completion of other tensors on the same graph by a fitted GraphImputer, and its stored series."""

from typing import NamedTuple

import numpy as np

from gpukit.base import check_integer
from gpukit.device.workspace import Workspace
from gpukit.errors import DataError
from gpukit.graphs.column_types import inner_limits
from gpukit.imputation.auto.plan import combine_members, estimates_of
from gpukit.imputation.problem import as_problem, in_units
from gpukit.imputation.spectral.path import Fit, PathRun
from gpukit.imputation.spectral.run import Setting, impute


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
    check_series(model._held, data, taken.clock.at)
    whole, times = join_held(model._held, data, taken.clock.at, check_window(window, data.tensor.shape[2]))
    result, deviation = complete(model, whole, times)
    deviation = np.full(whole.shape, np.nan) if deviation is None else deviation
    has_offset = taken.has_offset if model._held.has_offset is None else model._held.has_offset
    return tail(result, data), Held(result, deviation, mask_like(whole), times, has_offset)


def tail(result, data):
    """Return the last columns of series (N, H) in the data's shape; observed values bitwise."""
    new = result.reshape(len(result), -1)[:, -data.tensor.shape[2] :].reshape(data.tensor.shape)
    return np.where(data.seen, data.tensor, new.astype(data.tensor.dtype)).reshape(data.shape)


def complete(model, data, times):
    """Return (completed tensor, deviations or None) of inputs.Data by a fitted model."""
    if data.complete:
        return data.tensor.reshape(data.shape).copy(), np.zeros(data.shape)
    settings = model._fitted_options
    with Workspace() as workspace:
        place = model.place_._replace(workspace=workspace)
        if model.plan_ is None:
            estimate = impute(place, setting_of(model), data.tensor, data.mask).estimate
            return clip_to_bounds(fill_estimate(data, estimate), data, settings), None
        problem = in_units(as_problem(model.adjacency_, data, place, settings, times), model.plan_.units)
        return combine_estimates(problem, model.plan_, estimates_of(problem, model.plan_), data, settings)


def combine_estimates(problem, plan, estimates, data, settings):
    """Return (completed tensor, deviations) of inputs.Data from estimates [(values,)] by the members of a plan."""
    estimate, deviation = combine_members(problem, plan, estimates)
    estimates.clear()  # the results need the memory
    estimate = estimate.reshape(-1, *data.tensor.shape[data.mask.ndim :])
    return clip_to_bounds(fill_estimate(data, estimate), data, settings), place_values(data, deviation)


def place_values(data, values):
    """Return missing values (values,), or one for all, in the user's shape, 0 where nothing is missing."""
    out = np.zeros(data.tensor.shape)
    out[~data.seen] = values
    return out.reshape(data.shape)


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
        missing = ~data.seen.reshape(values.shape)
        values[missing] = values[missing].clip(*inner_limits(np.dtype(values.dtype), minimum, settings.maximum))
    return values


def ends_at_zero(data):
    """Return True if 0 bounds the observed values.

    It is the least one and its share exceeds a thousandth: counts, rain, concentrations. A least value that is rare
    belongs to a range that may continue below it.
    """
    if data.tensor.min() < 0:
        return False
    seen = np.count_nonzero(data.seen)
    zeros = int(np.count_nonzero(data.tensor == 0)) - (data.tensor.size - seen)
    return zeros > 1e-3 * seen


def fill_estimate(data, estimate):
    """Return the user's tensor with the estimate where values are missing.

    It is a copy.
    """
    out = data.tensor.copy()
    if not data.complete:
        out[~data.mask] = estimate
    return out.reshape(data.shape)


class Held(NamedTuple):
    """Stored series of a fitted imputer, in order of time.

    filled, spread  the completed tensor (N, ...) and the standard deviations, float64, where the tensor was
    mask            bool (N,) or of the tensor's shape: True = observed
    at              (T,) float64 seconds, rising, or None
    has_offset      whether the times were given with an offset from UTC; None if this is unknown
    """

    filled: np.ndarray
    spread: np.ndarray
    mask: np.ndarray
    at: object
    has_offset: bool | None = None

    @property
    def is_wide(self):
        """True for series (N, T), False for matrices."""
        return self.filled.ndim == 2 or (self.filled.ndim == 3 and self.filled.shape[1] == 1)

    def before(self, columns, times, most=None):
        """Return (values, seen, times) of stored columns before new ones.

        values, seen (N, H); times (H,) or None. times: times of the new columns, or None. With times these are the
        columns before times[0], otherwise all; most: the last ones.
        """
        values = self.filled.reshape(len(self.filled), -1)
        mask = self.mask[:, None] if self.mask.ndim == 1 else self.mask.reshape(values.shape)
        seen = np.broadcast_to(mask, values.shape)
        end = values.shape[1] if times is None or self.at is None else int(np.searchsorted(self.at, times[0]))
        span = slice(0 if most is None else max(0, end - most), end)
        return values[:, span], seen[:, span], None if self.at is None else self.at[span]


def follows(held, data, times):
    """Return True if new columns follow some stored ones, by both's times."""
    if held is None or not held.is_wide or held.at is None or times is None:
        return False
    return data.tensor.shape[1] == 1 and times[0] > held.at[0] and times[-1] >= held.at[-1]


def join_held(held, data, at, window=None):
    """Return (inputs.Data, at) of stored columns and new ones after them.

    window: maximum number of columns; at: times of the new columns; None: they follow at the usual step.
    """
    count, columns = len(data.tensor), data.tensor.shape[2]
    most = None if window is None else max(0, window - columns)
    old, seen, times = held.before(columns, at, most)
    if at is None and held.at is not None:
        at = held.at[-1] + (np.median(np.diff(held.at)) if len(held.at) > 1 else 1.0) * np.arange(1, columns + 1)
    mask = np.concatenate((seen, data.seen.reshape(count, columns)), axis=1)
    kind = data.tensor.dtype
    values = np.where(mask, np.concatenate((old.astype(kind), data.tensor[:, 0]), axis=1), kind.type(0))
    last = slice(None if window is None else max(0, values.shape[1] - window), None)
    values, mask = values[:, last], mask[:, last]
    shape = (count, 1, values.shape[1])
    whole = mask.all(axis=1)
    by_vertex = whole if (mask.any(axis=1) == whole).all() else mask.reshape(shape)
    times = None if times is None or at is None else np.concatenate((times, at))[last]
    return data.__class__(values.reshape(shape), by_vertex, (count, values.shape[1])), times


def check_window(window, columns):
    """Return window, at least `columns`; raise ParameterError for an invalid one."""
    return None if window is None else max(check_integer("window", window, 1), columns)


def check_series(held, data, times):
    """Raise DataError for data that cannot be extended, and for new times among stored ones, which would be lost."""
    if held is None or not held.is_wide or data.tensor.shape[1] != 1:
        raise DataError("only series, a tensor (N, T) or a table, can be extended by new columns; this has matrices.")
    if held.at is not None and times is not None:
        lost = int((~np.isin(held.at[np.searchsorted(held.at, times[0]) :], times)).sum())
        if lost:
            raise DataError(
                f"{lost:,} stored times are after the first of the new ones and not among these, and would be lost. "
                "Give times after the stored ones, or all from the first new one on; transform(), or --model without "
                "--save-model, completes earlier ones and stores nothing."
            )
