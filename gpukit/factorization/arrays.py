"""Named tuples of arrays for host code, kernels and CPU twins."""

from typing import NamedTuple

import numpy as np


class Parameters(NamedTuple):
    """A model's numbers in device memory, in the layout of layout.Layout.

    P (M + 1, any), Q (N + 1, any) float32: parameter rows of the major and of the minor side; the last row is that of
    the unknown id. influence (rows, 2 K) float32: w, then c of each item. offsets (rows, K) float32: baseline biases of
    its neighbours. The last two are not read without neighbours.
    """

    P: np.ndarray
    Q: np.ndarray
    influence: np.ndarray
    offsets: np.ndarray


class Batch(NamedTuple):
    """Ratings by major row, in the order of an epoch.

    minor (n,) int32: minor rows. values (n,) float32, centred and scaled. codes: ratings of the neighbours, 0 unrated,
    255 none, otherwise an index into levels (256,) float32; (n, K) uint8 for twins, (n, K / 4) uint32 for kernels, four
    neighbours a word. codes and levels are not read without neighbours.
    """

    minor: np.ndarray
    values: np.ndarray
    codes: np.ndarray
    levels: np.ndarray


class WeightedBatch(NamedTuple):
    """A Batch with weights (n,) float32, 1 on average.

    Code that reads it is compiled separately, so that a plain Batch costs nothing extra.
    """

    minor: np.ndarray
    values: np.ndarray
    codes: np.ndarray
    levels: np.ndarray
    weights: np.ndarray


def batch_of(side, codes, levels):
    """Return the Batch of a Side, a WeightedBatch if it has weights."""
    if side.weights is None:
        return Batch(side.minor, side.values, codes, levels)
    return WeightedBatch(side.minor, side.values, codes, levels, side.weights)


class Pairs(NamedTuple):
    """Pairs of rows to predict: major, minor (n,) int32; codes and levels as in Batch."""

    major: np.ndarray
    minor: np.ndarray
    codes: np.ndarray
    levels: np.ndarray


class Scale(NamedTuple):
    """Scale of training: z = (r - mean) / deviation.

    low and high bound the predictions.
    """

    mean: float
    deviation: float
    low: float
    high: float


UNSCALED = Scale(0.0, 1.0, float("-inf"), float("inf"))  # of clicks and of list scores, which have no bounds


def unscale(z, scale):
    """Return predictions in the units of the ratings, clipped to their range."""
    with np.errstate(over="ignore"):  # a diverging training may overflow float32; it is clipped
        value = z * np.float32(scale.deviation) + np.float32(scale.mean)
    return np.clip(value, np.float32(scale.low), np.float32(scale.high))


class Side(NamedTuple):
    """Ratings grouped by the major side, in random order within a row.

    indptr, on the host: row j has indptr[j]:indptr[j + 1] of minor (n,) int32 and values (n,) float32 (z). With strata
    the ratings are grouped by block first, at the positions in the chunk tables. starts: indptr on the device, possibly
    with more entries; minor and values are on the device too. where (n,) uint32, on the device: current position of
    each rating of the order from which this side was made. strata: chunk tables of a schedule without conflicts
    (prepare/training_data.py) or None. minor_starts, on the device: starts of the rows of the other side in its
    order, which give the number of ratings of each. weights (n,) float32, on the device, or None: 1 on average.
    """

    indptr: np.ndarray
    starts: np.ndarray
    minor: np.ndarray
    values: np.ndarray
    where: np.ndarray
    strata: list | None
    minor_starts: np.ndarray
    weights: np.ndarray | None = None


class History(NamedTuple):
    """Ratings by user, for the sets R and N of Eq. (1) and for filters.

    indptr (M + 2,) int64 (one more empty row, for unknown users), items (n,) int32, codes (n,) uint8 (1..254), levels
    (256,) float32: z of a code.
    """

    indptr: np.ndarray
    items: np.ndarray
    codes: np.ndarray
    levels: np.ndarray


def places_in_rows(starts, counts):
    """Return the positions of the entries of rows, one row after the other, that begin at `starts` and have `counts`
    entries, as (sum of counts,) int64."""
    before = np.cumsum(counts) - counts
    return np.repeat(starts - before, counts) + np.arange(counts.sum())


class WeightLists(NamedTuple):
    """Weights between items as lists: item i has starts[i]:starts[i + 1] of items (n,) int32 and weights (n,) float32.

    starts (N + 1,) int64.
    """

    starts: np.ndarray
    items: np.ndarray
    weights: np.ndarray


class Query(NamedTuple):
    """Pairs sorted by user, with their original positions.

    indptr (M + 2,) int64, items (n,) int32, places (n,) uint32: position of each pair in the input.
    """

    indptr: np.ndarray
    items: np.ndarray
    places: np.ndarray


NUMBERS = 1 << 22  # of temporary arrays, at once
USERS = 32  # of a group: the lanes of a warp


class Tables(NamedTuple):
    """Ratings of some users as tables, 32 users a group.

    rated (groups, N + 1) uint32, bit l: user l of the group rated the item. codes (groups, N + 1, 32) uint8 and levels
    as in History, codes valid only where that bit is set.
    """

    rated: np.ndarray
    codes: np.ndarray
    levels: np.ndarray
