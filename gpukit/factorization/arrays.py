"""Arrays that go through host code, kernels and twins together, as named tuples."""

from typing import NamedTuple

import numpy as np


class Parameters(NamedTuple):
    """A model's numbers in a device's memory; layout.Layout says how they lie there.

    P (M + 1, any), Q (N + 1, any) float32: parameter rows of the major and of the minor side, the last one that of the
    unknown; influence (rows, 2 K) float32: w, then c of each item; offsets (rows, K) float32: baseline biases of its
    neighbours. The last two are not read without neighbours.
    """

    P: np.ndarray
    Q: np.ndarray
    influence: np.ndarray
    offsets: np.ndarray


class Batch(NamedTuple):
    """Ratings as an epoch reads them, by major row.

    minor (n,) int32: minor rows; values (n,) float32, centred and scaled; codes: how the neighbours were rated, 0
    unrated, 255 none, else an index into levels (256,) float32; (n, K) uint8 for twins, (n, K / 4) uint32 for kernels,
    four neighbours a word. The last two are not read without neighbours.
    """

    minor: np.ndarray
    values: np.ndarray
    codes: np.ndarray
    levels: np.ndarray


class WeightedBatch(NamedTuple):
    """A Batch of ratings that count differently: weights (n,) float32, 1 on average. What reads it is compiled apart,
    so that a plain Batch costs nothing for it."""

    minor: np.ndarray
    values: np.ndarray
    codes: np.ndarray
    levels: np.ndarray
    weights: np.ndarray


def batch_of(side, codes, levels):
    """The Batch of a Side, or the WeightedBatch where it has weights."""
    if side.weights is None:
        return Batch(side.minor, side.values, codes, levels)
    return WeightedBatch(side.minor, side.values, codes, levels, side.weights)


class Pairs(NamedTuple):
    """Pairs of rows whose ratings are asked for: major, minor (n,) int32; codes and levels as in Batch."""

    major: np.ndarray
    minor: np.ndarray
    codes: np.ndarray
    levels: np.ndarray


class Scale(NamedTuple):
    """Training works on z = (r - mean) / deviation; low and high bound the predictions."""

    mean: float
    deviation: float
    low: float
    high: float


class Side(NamedTuple):
    """Ratings grouped by the major side: row j's are indptr[j]:indptr[j + 1] of minor (n,) int32 and values (n,)
    float32 (z), in random order. With strata they are grouped by block first, and lie where the strata's chunks say.

    indptr lies on the host; starts, the same and perhaps more, minor and values on the device. where (n,) uint32, on
    the device: where each rating of the order that this side was made from stands now; strata: chunk tables of a
    schedule without conflicts (prepare/conflict_free_blocks.py) or None. minor_starts: where the rows of the other
    side begin in an order of theirs, on the device: how many ratings each has. weights (n,) float32, on the device,
    or None: how much each counts, 1 on average.
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
    """What each user rated, for the sets R and N of Eq. (1) and to leave it out of recommendations.

    indptr (M + 2,) int64 (one empty row more, for unknown users), items (n,) int32, codes (n,) uint8 (1..254),
    levels (256,) float32: z of a code.
    """

    indptr: np.ndarray
    items: np.ndarray
    codes: np.ndarray
    levels: np.ndarray


class Query(NamedTuple):
    """Pairs sorted by user: indptr (M + 2,) int64, items (n,) int32, places (n,) uint32: where each came from."""

    indptr: np.ndarray
    items: np.ndarray
    places: np.ndarray


class Tables(NamedTuple):
    """What each of some users rated, 32 users at a time: rated (groups, N + 1) uint32, bit l: user l of the group rated
    the item; codes (groups, N + 1, 32) uint8: how (History has the codes), to be read only where that bit is set."""

    rated: np.ndarray
    codes: np.ndarray
