"""Ratings of arrays on a GPU, or of large host arrays.

Their ids are numbered on the GPU.

Code that reads columns on the host gets a host copy, made on first access, so these objects work wherever Ratings do.
"""

from typing import NamedTuple

import numpy as np

from gpukit.base.arrays import as_resident
from gpukit.device import gpu_count, resolve, spare_memory, translate_memory_errors
from gpukit.device.engine import engine
from gpukit.io.ids import SPAN, rank_present
from gpukit.ratings.table import Ratings

IDS, VALUES = (np.int32, np.int64), (np.float32, np.float64, np.int32, np.int64)
TRIPLE = ("users", "items", "values")
MANY = 1 << 20  # minimum ratings in host arrays for which numbering on a GPU is faster


class Hosted(NamedTuple):
    """Host array with the interface of base.arrays.Resident; views are device copies."""

    array: np.ndarray
    gpu = None

    @classmethod
    def of(cls, array):
        """Wrap a numpy array of at least MANY rows, else None."""
        return cls(array) if type(array) is np.ndarray and array.shape[:1] >= (MANY,) else None

    @property
    def shape(self):
        return self.array.shape

    @property
    def size(self):
        return self.array.size

    def is_plain(self, axes, dtypes):
        return self.array.ndim == axes and self.array.flags.c_contiguous and self.array.dtype in dtypes


class Ids(NamedTuple):
    """Numbered column of ids (n, k) on the device.

    ranks (span,) int32 on the host: the row of id low + s is ranks[s]; known (rows,) int64: the ids, ascending.
    """

    ids: object
    column: int
    low: int
    ranks: np.ndarray
    known: np.ndarray

    def rows(self, steps):
        """Return the rows (n,) int32 on the device."""
        out = steps.empty(self.ids.shape[0], np.int32)
        steps.run("rank_ids", self.ids, self.column, self.low, steps.resident(self.ranks, np.int32), out)
        return out


class Numbered(NamedTuple):
    """Column of rows (n,) int32 on the device.

    known (rows,) int64: their ids, ascending.
    """

    rows: object
    known: np.ndarray


class ResidentRatings(Ratings):
    """Ratings whose columns are on a GPU; see `ratings_where`.

    users and items are Ids, values a base.arrays.Resident.
    """

    @classmethod
    def of(cls, users, items, values, on_host):
        """Create from device columns; on_host(): returns the same Ratings on the host."""
        result = object.__new__(cls)
        known = {"user_ids": users.known, "item_ids": items.known}
        vars(result).update(known, _there={"users": users, "items": items, "values": values}, _on_host=on_host)
        return result

    def __getattr__(self, name):
        """Return a column; the first access copies all columns to the host."""
        if name not in TRIPLE or "_on_host" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        copied = self._on_host()
        vars(self).update({value: getattr(copied, value) for value in TRIPLE})
        return vars(self)[name]

    def __len__(self):
        return self._there["values"].size

    def first_values(self, count):
        with np.errstate(over="ignore"):
            return self._there["values"].view()[:count].copy_to_host().astype(np.float32)

    def hosted(self):
        """Return the Ratings on the host."""
        return self._on_host()

    def sent(self, name, steps):
        """Return a new device column (n,): int32, or values float32.

        steps: of order_ratings.
        """
        device_array = self._there[name]
        return as_single(device_array.view(), steps) if name == "values" else device_array.rows(steps)


class SentRatings(ResidentRatings):
    """Ratings of large host arrays whose ids were numbered on a GPU.

    users and items (Numbered) are handed over once, so that they use no memory during the sort; values (a Hosted) are
    sent on access.
    """

    def first_values(self, count):
        with np.errstate(over="ignore"):
            return self._there["values"].array[:count].astype(np.float32)

    def hosted(self):
        """Return the Ratings on the host; what was numbered on the GPU is released."""
        for name in ("users", "items"):
            self._there.pop(name, None)
        return super().hosted()

    def sent(self, name, steps):
        if name == "values":
            values = self._there[name].array
            device_array = steps.resident(values, values.dtype)
            return device_array if values.dtype == np.float32 else as_single(device_array, steps)
        numbered_there = self._there.pop(name, None)
        return steps.resident(getattr(self, name), np.int32) if numbered_there is None else numbered_there.rows


def as_single(values, steps):
    """Return values (n,) on the device as a new float32 array."""
    out = steps.empty(values.size, np.float32)
    steps.run("as_single", values, out)
    return out


def ratings_where(X, y, spec, on_host):
    """Return the Ratings of X and y, numbered on the GPU if possible.

    spec: a device spec. ResidentRatings if users, items and ratings are on that GPU, SentRatings if they are large host
    arrays, of types IDS and VALUES; else on_host(), the Ratings of host copies.
    """
    a_rating = 24  # bytes while host arrays are numbered: a table of two ids, and two rows
    triple = None if getattr(spec, "kind", spec) == "cpu" else _triple(X, y)
    if triple is None or not gpu_count():
        return on_host()
    device = resolve(spec)
    if not device.is_cuda or {part.gpu for part, _ in triple} not in ({device.index}, {None}):
        return on_host()
    if isinstance(triple[0][0], Hosted) and a_rating * triple[0][0].shape[0] > spare_memory():
        return on_host()
    with translate_memory_errors(device, "Reading ratings"):
        steps = engine(device, __package__)
        make = _of_hosted if isinstance(triple[0][0], Hosted) else _of_resident
        return make(*triple, steps, on_host) or on_host()


def _of_resident(users, items, values, steps, on_host):
    """Return ResidentRatings of ((Resident, column), ...); None without a table."""
    counts = [number_on_device(part.view(), column, steps) for part, column in (users, items)]
    return None if None in counts else ResidentRatings.of(*counts, values[0], on_host)


def _of_hosted(users, items, values, steps, on_host):
    """Return SentRatings of ((Hosted, column), ...); None as in `_of_resident`.

    No copy of the ids remains on the device.
    """
    last_array, device_array, counts = None, None, []
    for part, column in (users, items):
        if part.array is not last_array:
            device_array = None  # frees its memory before the next allocation
            last_array, device_array = part.array, steps.resident(part.array, part.array.dtype)
        ids = number_on_device(device_array, column, steps)
        if ids is None:
            return None
        counts.append(Numbered(ids.rows(steps), ids.known))
    return SentRatings.of(*counts, values[0], on_host)


def _triple(X, y):
    """Return ((part, column), ...) of users, items and values.

    All are Resident or all are Hosted. None for input that must be checked on the host: other types, strided arrays,
    sizes that differ.
    """
    is_split = isinstance(X, tuple) and len(X) == (3 if y is None else 2)
    if not is_split and (y is None or isinstance(X, tuple)):
        return None
    arguments = (*X, y) if is_split and y is not None else X if is_split else (X, X, y)
    where = as_resident if as_resident(arguments[0]) else Hosted.of
    parts = [where(part) for part in arguments]
    if any(part is None for part in parts):
        return None
    *ids, values = parts
    axes = 1 if is_split else 2
    is_valid = all(part.is_plain(axes, IDS) for part in ids) and values.is_plain(1, VALUES)
    if not is_valid or not values.size or any(part.shape != (values.size, 2)[:axes] for part in ids):
        return None
    return tuple(zip(parts, (0, 0 if is_split else 1, 0)))


def number_on_device(ids, column, steps):
    """Return Ids of a column of ids (n,) or (n, k) on the device.

    None if their range is too wide for a table.
    """
    ids = ids.reshape(ids.shape[0], 1) if ids.ndim == 1 else ids
    limits = np.iinfo(np.int64)
    bounds = steps.resident(np.array([limits.max, limits.min]), np.int64)
    steps.run("id_bounds", ids, column, bounds)
    low, high = map(int, steps.fetch(bounds))
    if high - low >= max(SPAN, ids.shape[0]):
        return None
    present = steps.zeros(high - low + 1, np.uint8)
    steps.run("mark_ids", ids, column, low, present)
    return Ids(ids, column, low, *rank_present(steps.fetch(present), low))
