"""Named tuples of arrays for host code, kernels and twins."""

from typing import NamedTuple

import numpy as np


class Clicks(NamedTuple):
    """Clicks by user: those of row i are items[starts[i]:starts[i + 1]].

    starts (M + 1 or more,) int64; items (n,) int32, distinct and in random order in each row.
    """

    starts: np.ndarray
    items: np.ndarray


class Draw(NamedTuple):
    """Sampling of an epoch: key uint32; negatives per click, int64; pairwise: pairwise loss, bool."""

    key: np.uint32
    negatives: int
    pairwise: bool
