"""What the local regression needs of a device: cpu.py and gpu.py have a Session each."""

from typing import NamedTuple, Protocol

import numpy as np


class Ground(NamedTuple):
    """values (N, T) float32, 0 where missing; before, after (N, T) int32 (kernels.describe); at (T,) float32; series
    (M, T) float32; near (N, k) int32."""

    values: np.ndarray
    before: np.ndarray
    after: np.ndarray
    at: np.ndarray
    series: np.ndarray
    near: np.ndarray


class Session(Protocol):
    """A device at work."""

    def describe(self, ground, vertex, column):
        """(features (n, size), base (n,)) float32 on the device; vertex, column (n,) int32 on the host."""

    def host(self, array):
        """An array of the device as numpy's."""

    def regress(self, features, targets, first, start, pull, group, rounds):
        """(G, size) float64 coefficients on the host; features as describe gives them, or parts joined; the others on
        the host, as kernels.regress has them."""

    def joined(self, parts, order):
        """Features of several calls of describe, one after another, their rows in an order (n,)."""

    def answer(self, features, base, group, coefficients):
        """(n,) float64 on the host."""
