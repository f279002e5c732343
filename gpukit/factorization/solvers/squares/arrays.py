"""Named tuples of arrays for host code, kernels and twins."""

from typing import NamedTuple

import numpy as np


class Data(NamedTuple):
    """Ratings of the rows, on the device, by row.

    minor (nnz,) int32: rows of the other side; values z, weights w (nnz,) float32, or (1,) for all.
    """

    minor: np.ndarray
    values: np.ndarray
    weights: np.ndarray


class Terms(NamedTuple):
    """Terms of the equations besides the data.

    biased: solve for biases; shared: Gram matrix shared by all rows, see Equations.sums; damping of the biases
    (float32); steps, tolerance (float32) of conjugate gradients.
    """

    biased: bool
    shared: np.ndarray
    damping: np.float32
    steps: int
    tolerance: np.float32
