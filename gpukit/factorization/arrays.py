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


class Pairs(NamedTuple):
    """Pairs of rows whose ratings are asked for: major, minor (n,) int32; codes and levels as in Batch."""

    major: np.ndarray
    minor: np.ndarray
    codes: np.ndarray
    levels: np.ndarray
