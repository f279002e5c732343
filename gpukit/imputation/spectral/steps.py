"""What an imputation needs of a device: cpu.py and gpu.py have a Session each."""

from typing import NamedTuple, Protocol


class Known(NamedTuple):
    """What sessions of one tensor have in common, since no step changes it: the unit that its numbers are in; C
    (K, m n), the transform of what is observed, on the device; largest (K,) float64 on the host, or None yet."""

    unit: float
    C: object
    largest: object


class Session(Protocol):
    """One tensor on one basis. rounding: relative errors below it say nothing; seconds: {part of a step: seconds}."""

    rounding: float
    seconds: dict

    def __init__(self, basis, observed, mask, dtype, workspace=None, known=None):
        """basis: graphs.basis.Basis; observed (N, m, n) centred, 0 where missing; mask (N,) or (N, m, n) bool; known:
        of a session with the same arguments, or None."""

    def known(self):
        """Known, for the next session of the same tensor."""

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
