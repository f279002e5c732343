"""Arrays that go through host code, kernels and twins together, as named tuples."""

from typing import NamedTuple

import numpy as np


class Clicks(NamedTuple):
    """Clicks by user: those of row i are starts[i]:starts[i + 1] of items (n,) int32, distinct, in random order; starts
    (M + 1 or more,) int64."""

    starts: np.ndarray
    items: np.ndarray


class Draw(NamedTuple):
    """How an epoch draws: key uint32; negatives of a click, int64; whether the loss is pairwise, bool."""

    key: np.uint32
    negatives: int
    pairwise: bool
