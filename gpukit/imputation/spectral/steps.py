"""Device interface of the imputation: cpu.py and gpu.py have a Session each."""

from typing import NamedTuple, Protocol


class Known(NamedTuple):
    """Data common to all sessions of one tensor.

    unit: scale of its numbers; C (K, m n): transform of observed values, on the device; largest (K,) float64 on the
    host, or None.
    """

    unit: float
    C: object
    largest: object


class Session(Protocol):
    """Computation of one tensor on one basis.

    rounding: negligible relative error; seconds: {part of a step: seconds}.
    """

    rounding: float
    seconds: dict

    def __init__(self, basis, observed, mask, dtype, workspace=None, known=None):
        """basis: graphs.basis.Basis; observed (N, m, n) centred, 0 where missing; mask (N,) or (N, m, n) bool; known:
        of a session with the same arguments, or None."""

    def known(self):
        """Return Known for the next session of the same tensor."""

    def largest(self):
        """Return (K,) float64: the largest singular value of each slice of the zero-filled tensor."""

    def spectrum(self, count):
        """Return (K, count) float64: leading singular values of the slices, the estimate filled in."""

    def step(self, lam, cap=None, momentum=0.0):
        """Run one iteration: (change, size, ranks); see cpu.Session."""

    def missing(self):
        """Return the estimate of missing entries, on the host."""

    def completed(self):
        """Return (N, m, n) on the host: observed values and the estimate elsewhere."""


class Steps(Protocol):
    """A module of steps."""

    Session: type
