"""Device interface of smoothness: cpu.py and gpu.py have a Session each."""

from typing import NamedTuple, Protocol

import numpy as np


class Observed(NamedTuple):
    """Observed values of a table and its graph.

    values (N, T) float32, 0 where missing; seen (N, T) bool; gaps (T,) float32, lags (K,) int32 (kernels.differ); first
    (N + 1,) int32, neighbors (E,) int32, weights (E,) float32: the rows of the graph's Laplacian; own (N,) float32:
    its diagonal.
    """

    values: np.ndarray
    seen: np.ndarray
    gaps: np.ndarray
    lags: np.ndarray
    first: np.ndarray
    neighbors: np.ndarray
    weights: np.ndarray
    own: np.ndarray


class Session(Protocol):
    """An Observed on a device with a solution x, initially start (N, T) float32."""

    def weigh(self, near, steady, together, inverse):
        """Set the weights: near float32, steady and together (K,) float32.

        inverse (N, T) float32: 1 over the resulting diagonal. The direction becomes the solution, the residual the
        values, x zero: a step of length 1 then gives the solution's residual.
        """

    def image(self):
        """Compute the direction's product; return direction . product."""

    def advance(self, length):
        """Run a step of a length; return residual . scaled residual."""

    def redirect(self, share):
        """Compute the next direction: the scaled residual plus a share of the last one."""

    def answer(self):
        """Return (N, T) float32 on the host."""
