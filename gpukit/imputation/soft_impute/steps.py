"""Device interface of soft-impute: cpu.py and gpu.py have a Session each."""

from typing import Protocol


class Session(Protocol):
    """A matrix (n, m) on a device, initially known (n, m) float32, 0 where not seen (bool). rows: n."""

    rows: int

    def squares(self):
        """Return (n, n) float32 on the host: the matrix times its transpose."""

    def turned(self, vectors):
        """Return (n, k) float32 on the host: the squares times vectors (n, k)."""

    def projected(self, vectors):
        """Return (k, k) float32 on the host: the squares of vectors' (n, k) products, which are stored."""

    def lower(self, left, right):
        """Compute the estimate: left (n, k), None for 1, times right (k, j), times the stored product or matrix."""

    def compare(self):
        """Return (product of matrix less estimate and the estimate's change, its change squared, its square)."""

    def proceed(self, momentum):
        """Compute the next matrix: known values, elsewhere the estimate plus momentum."""

    def answer(self):
        """Return (n, m) float32 on the host: the last estimate."""


def run_all(iterations):
    """Run all steps of iteration.Iterations, with the device's number of threads."""
