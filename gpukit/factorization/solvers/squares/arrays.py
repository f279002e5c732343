"""Arrays that go through host code, kernels and twins together, as named tuples."""

from typing import NamedTuple

import numpy as np


class Data(NamedTuple):
    """What rows are solved from, on the device, by row: minor (nnz,) int32, rows of the other side; values z and
    weights w (nnz,) float32, or (1,), one for all."""

    minor: np.ndarray
    values: np.ndarray
    weights: np.ndarray


class Terms(NamedTuple):
    """What the equations have beside the data: biased, whether biases are solved for; shared, a Gram matrix, as
    Equations.sums gives it, that all rows have in common; the biases' damping (float32); conjugate gradients' steps at
    most, and what they may leave (float32)."""

    biased: bool
    shared: np.ndarray
    damping: np.float32
    steps: int
    tolerance: np.float32
