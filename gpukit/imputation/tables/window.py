"""Stored series of a fitted imputer, new columns and file contents."""

from typing import NamedTuple

import numpy as np

from gpukit import persist
from gpukit.base import check_integer
from gpukit.errors import DataError
from gpukit.imputation.centering import spread as entries
from gpukit.io import trust


class Held(NamedTuple):
    """Stored series of a fitted imputer, in order of time.

    filled, spread  the completed tensor (N, ...) and the standard deviations, float64, where the tensor was
    mask            bool (N,) or of the tensor's shape: True = observed
    at              (T,) float64 seconds, rising, or None
    """

    filled: np.ndarray
    spread: np.ndarray
    mask: np.ndarray
    at: object

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
    return data.tensor.shape[1] == 1 and times[0] > held.at[0] and times[-1] > held.at[-1]


def join_held(held, data, at, window=None):
    """Return (inputs.Data, at) of stored columns and new ones after them.

    window: maximum number of columns; at: times of the new columns; None: they follow at the usual step.
    """
    count, columns = len(data.tensor), data.tensor.shape[2]
    most = None if window is None else max(0, window - columns)
    old, seen, times = held.before(columns, at, most)
    if at is None and held.at is not None:
        at = held.at[-1] + (np.median(np.diff(held.at)) if len(held.at) > 1 else 1.0) * np.arange(1, columns + 1)
    new = np.broadcast_to(entries(data.mask), data.tensor.shape).reshape(count, columns)
    mask = np.concatenate((seen, new), axis=1)
    kind = data.tensor.dtype
    values = np.where(mask, np.concatenate((old.astype(kind), data.tensor[:, 0]), axis=1), kind.type(0))
    last = slice(None if window is None else max(0, values.shape[1] - window), None)
    values, mask = values[:, last], mask[:, last]
    shape = (count, 1, values.shape[1])
    whole = mask.all(axis=1)
    by_vertex = whole if (mask.any(axis=1) == whole).all() else mask.reshape(shape)
    times = None if times is None or at is None else np.concatenate((times, at))[last]
    given = np.where(mask, values, np.nan)
    return data.__class__(values.reshape(shape), by_vertex, (count, values.shape[1]), given), times


def check_window(window, columns):
    """Return window, at least `columns`; raise ParameterError for an invalid one."""
    return None if window is None else max(check_integer("window", window, 1), columns)


def check_series(held, data):
    """Raise DataError for data that cannot be extended."""
    if held is None or not held.is_wide or data.tensor.shape[1] != 1:
        raise DataError("only series, a tensor (N, T) or a table, can be extended by new columns; this has matrices.")


def pack_held(model):
    """Return (facts, {name: array}) of a fitted GraphImputer."""
    held = model._held
    result = {
        "completed": held.filled,
        "held.mask": held.mask,
        "held.at": held.at,
        "vertices": model.vertices_,
    }
    known = {name: array for name, array in result.items() if array is not None}
    return {"labels": sorted(set(known) & {"held.at", "vertices"}), "table": getattr(model, "_is_table", False)}, known


def unpack(model, facts, arrays):
    """Restore the stored series of a GraphImputer from `pack_held` contents.

    Its completed tensor and deviations are set before. Raises DataError for invalid contents.
    """
    known = persist.entry_of(facts, "labels", list)
    model.vertices_ = vertices_of(arrays["vertices"], len(model.completed_)) if "vertices" in known else None
    model._is_table = facts.get("table") is True
    mask, times = arrays["held.mask"], arrays["held.at"] if "held.at" in known else None
    shape = model.completed_.shape
    trust.check_array("held.mask", mask, np.bool_, shape[:1] if np.ndim(mask) == 1 else shape)
    if times is not None:
        trust.check_array("held.at", times, np.float64, (int(np.prod(shape[1:])),))
        trust.check_finite("held.at", times)
        if not (np.diff(times) > 0).all():
            raise DataError("held.at does not rise.")
    model._held = Held(model.completed_, model.deviation_, mask, times)


def vertices_of(ids, count):
    """Return the validated ids of a file."""
    if ids.shape != (count,) or ids.dtype.kind not in "iuU" or trust.first_repeated(ids) is not None:
        raise DataError(f"vertices are not {count:,} different ids.")
    return ids
