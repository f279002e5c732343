"""Protocol of the device modules cpu.py and gpu.py of the neighbour search."""

from typing import Protocol


class Steps(Protocol):
    """A module of steps."""

    def search(self, items, settings):
        """Return (neighbors (N, K), scores (N, K), random slots) of hashed items, for plan.Settings."""

    def find(self, columns, settings):
        """Return the plan.Found of a columns.Columns, arrays on the device; ParameterError if K is too large."""

    def fetch(self, array):
        """Return an array of `find` on the host."""
