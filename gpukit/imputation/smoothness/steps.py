"""What smoothness needs of a device: cpu.py and gpu.py have a Session each."""

from typing import NamedTuple, Protocol

import numpy as np


class Observed(NamedTuple):
    """What is known of a table before any weights.

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
    """An Observed on a device, with an answer x, at first that of Session(ground, start), start (N, T) float32."""

    def weigh(self, near, steady, together, inverse):
        """Weights from now on: near float32, steady and together (K,) float32; inverse (N, T) float32: 1 over the
        diagonal they make. The answer stays; the direction is it, the residual the values, x zero: a step of length 1
        along it gives the residual that the answer leaves."""

    def image(self):
        """The direction's product; direction . product."""

    def advance(self, length):
        """A step of that length; residual . scaled residual."""

    def redirect(self, share):
        """The next direction: the scaled residual and a share of the last one."""

    def answer(self):
        """(N, T) float32 on the host."""
