"""What an imputation needs of a device: cpu.py and gpu.py have a Session each."""

from typing import Protocol


class Session(Protocol):
    """One tensor on one basis. rounding: relative errors below it say nothing; seconds: {part of a step: seconds}."""

    rounding: float
    seconds: dict

    def __init__(self, basis, observed, mask, dtype):
        """basis: graphs.basis.Basis; observed (N, m, n) centred, 0 where missing; mask (N,) or (N, m, n) bool."""

    def largest(self):
        """(K,) float64: the largest singular value of each spectral slice of the zero-filled tensor."""

    def spectrum(self, count):
        """(K, count) float64: the leading singular values of the spectral slices, the estimate filled in."""

    def step(self, lam, cap=None, momentum=0.0):
        """One iteration: (change, size, ranks); see cpu.Session."""

    def missing(self):
        """The estimate where something is missing, on the host."""

    def completed(self):
        """(N, m, n) on the host: what is observed, and the estimate where something is missing."""


class Steps(Protocol):
    """A module of steps."""

    Session: type
