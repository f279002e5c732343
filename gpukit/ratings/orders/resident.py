"""Ratings that lie on a GPU already as ids and values: told apart and numbered there, and read where they are.

What is asked of their columns on the host, by whatever is not done on the device, is answered by the copy that is made
then, the usual way; so all that takes Ratings takes these.
"""

from typing import NamedTuple

import numpy as np

from gpukit.base.arrays import resident
from gpukit.device import gpu_count, reported, resolve
from gpukit.device.engine import engine
from gpukit.ratings.table import Ratings

IDS, VALUES = (np.int32, np.int64), (np.float32, np.float64, np.int32, np.int64)
TRIPLE = ("users", "items", "values")
SPAN = 1 << 20  # ids from the least to the greatest for which a table pays, however few ratings there are
WIDEST = np.iinfo(np.int64)


class Ids(NamedTuple):
    """A column of ids (n, k) on the device, numbered: the row of id low + s is ranks[s] (span,) int32, on the host;
    known (rows,) int64: the ids, ascending."""

    ids: object
    column: int
    low: int
    ranks: np.ndarray
    known: np.ndarray


class ResidentRatings(Ratings):
    """Ratings whose users and items (Ids) and values (a base.arrays.Resident) lie on a GPU; see `ratings_where`."""

    @classmethod
    def of(cls, users, items, values, on_host):
        """Of what lies there; on_host(): the same Ratings, copied."""
        made = object.__new__(cls)
        known = {"user_ids": users.known, "item_ids": items.known}
        vars(made).update(known, _there={"users": users, "items": items, "values": values}, _on_host=on_host)
        return made

    def __getattr__(self, name):
        """The columns, copied to the host when one is first asked for."""
        if name not in TRIPLE or "_on_host" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        copied = self._on_host()
        vars(self).update({one: getattr(copied, one) for one in TRIPLE})
        return vars(self)[name]

    def __len__(self):
        return self._there["values"].size

    def first_values(self, count):
        with np.errstate(over="ignore"):
            return self._there["values"].view()[:count].copy_to_host().astype(np.float32)

    def sent(self, name, steps):
        """A column (n,), int32 or of values float32, on the device in memory of its own; steps: order_ratings'."""
        there = self._there[name]
        out = steps.empty(len(self), np.float32 if name == "values" else np.int32)
        if name == "values":
            steps.run("as_single", there.view(), out)
        else:
            steps.run("rank_ids", there.ids, there.column, there.low, steps.resident(there.ranks, np.int32), out)
        return out


def ratings_where(X, y, spec, on_host):
    """ResidentRatings of what fit takes, where users, items and ratings lie on the GPU that a device spec stands for
    and are of types IDS and VALUES; else on_host(), the Ratings of their copies."""
    triple = _triple(X, y)
    if triple is None or not gpu_count():
        return on_host()
    gpus, device = {part.gpu for part, _ in triple}, resolve(spec)
    if not device.is_cuda or gpus != {device.index}:
        return on_host()
    (users, first), (items, second), (values, _) = triple
    with reported(device, "Reading ratings"):
        steps = engine(device, __package__)
        found = numbered(users.view(), first, steps), numbered(items.view(), second, steps)
    return on_host() if None in found else ResidentRatings.of(*found, values, on_host)


def _triple(X, y):
    """((Resident, column), ...) of users, items and values; None for what is anything else, or has to be looked at on
    the host: other types, with gaps, of sizes that do not agree."""
    apart = isinstance(X, tuple) and len(X) == (3 if y is None else 2)
    if not apart and (y is None or isinstance(X, tuple)):
        return None
    given = (*X, y) if apart and y is not None else X if apart else (X, X, y)
    parts = [resident(part) for part in given]
    if any(part is None for part in parts):
        return None
    *ids, values = parts
    axes = 1 if apart else 2
    fits = all(part.is_plain(axes, IDS) for part in ids) and values.is_plain(1, VALUES)
    if not fits or not values.size or any(part.shape != (values.size, 2)[:axes] for part in ids):
        return None
    return tuple(zip(parts, (0, 0 if apart else 1, 0)))


def numbered(ids, column, steps):
    """Ids of a column of ids (n,) or (n, k) on the device; None where they are spread too far for a table."""
    ids = ids.reshape(ids.shape[0], 1) if ids.ndim == 1 else ids
    bounds = steps.resident(np.array([WIDEST.max, WIDEST.min]), np.int64)
    steps.run("id_bounds", ids, column, bounds)
    low, high = map(int, steps.fetch(bounds))
    if high - low >= max(SPAN, ids.shape[0]):
        return None
    present = steps.zeros(high - low + 1, np.uint8)
    steps.run("mark_ids", ids, column, low, present)
    seen = steps.fetch(present) > 0
    return Ids(ids, column, low, np.cumsum(seen, dtype=np.int32) - np.int32(1), np.flatnonzero(seen) + low)
