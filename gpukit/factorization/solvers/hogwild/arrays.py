"""Named tuples of arrays for host code, kernels and twins."""

from typing import NamedTuple

import numpy as np


class Samples(NamedTuple):
    """Ratings in random order: major, minor (n,) int32 rows, values (n,) float32 z."""

    major: np.ndarray
    minor: np.ndarray
    values: np.ndarray
