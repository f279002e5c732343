"""What the neighbour search needs of a device: cpu.py and gpu.py are modules with these names."""

from typing import Protocol


class Steps(Protocol):
    """A module of steps."""

    def search(self, items, settings):
        """(neighbors (N, K), scores (N, K), random slots) of items that are hashed, for plan.Settings."""

    def find(self, columns, settings):
        """plan.Found of a columns.Columns, arrays on the device. ParameterError when K does not fit the items."""

    def fetch(self, array):
        """An array of `find` on the host."""
