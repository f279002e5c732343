"""What soft-impute needs of a device: cpu.py and gpu.py have a Session each."""

from typing import Protocol


class Session(Protocol):
    """A matrix (n, m) on a device, at first that of Session(known, seen), (n, m) float32, 0 where not seen, and bool.
    rows: n."""

    rows: int

    def squares(self):
        """(n, n) float32 on the host: the matrix times its transpose."""

    def turned(self, vectors):
        """(n, k) float32 on the host: the squares times vectors (n, k)."""

    def projected(self, vectors):
        """(k, k) float32 on the host: the squares of vectors' (n, k) products with the matrix, which are kept."""

    def lower(self, left, right):
        """The estimate: left (n, k), None for 1, times right (k, j), times what is kept, or the matrix."""

    def compare(self):
        """(product of matrix less estimate and of the estimate's change, its change squared, its square)."""

    def proceed(self, momentum):
        """The next matrix: what is known, elsewhere the estimate and a share of its change."""

    def answer(self):
        """(n, m) float32 on the host: the last estimate."""


def walked(walks):
    """All steps of walk.Walk's, on as many threads as the device bears."""
