"""Arrays that go through host code, kernels and twins together, as named tuples."""

from typing import NamedTuple

import numpy as np


class Samples(NamedTuple):
    """Ratings in random order: major, minor (n,) int32 rows, values (n,) float32 z."""

    major: np.ndarray
    minor: np.ndarray
    values: np.ndarray


class HogwildTables(NamedTuple):
    """Factors P, Q (rows + 1, any), float32 or float16, zero behind the model's; own, other (rows + 1, stride) float32:
    parameter rows with the biases, perhaps the same arrays."""

    P: np.ndarray
    Q: np.ndarray
    own: np.ndarray
    other: np.ndarray
