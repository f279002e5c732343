"""Device interface of the local regression: cpu.py and gpu.py have a Session each."""

from typing import NamedTuple, Protocol

import numpy as np


class Predictors(NamedTuple):
    """Data of the features.

    values (N, T) float32, 0 where missing; before, after (N, T) int32 (kernels.describe); at (T,) float32; series
    (M, T) float32; near (N, k) int32.
    """

    values: np.ndarray
    before: np.ndarray
    after: np.ndarray
    at: np.ndarray
    series: np.ndarray
    near: np.ndarray


class Session(Protocol):
    """Local regression on a device."""

    def describe(self, ground, vertex, column):
        """Return (features (n, size), base (n,)) float32 on the device; vertex, column (n,) int32 on the host."""

    def host(self, array):
        """Return a device array as numpy's."""

    def joined(self, parts, order):
        """Return concatenated features of several calls of describe, rows in an order (n,)."""

    def sent(self, array):
        """Return a host array on the device."""

    def empty(self, shape):
        """Return a float64 array on the device."""

    def remainders(self, *arrays):
        """kernels.remainders."""

    def gather(self, *arrays):
        """kernels.gather."""

    def solve(self, *arrays):
        """kernels.solve."""

    def answer(self, features, base, group, coefficients):
        """Return (n,) float64 on the host."""
