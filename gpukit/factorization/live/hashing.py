"""Sums of simLSH, updated by new ratings: lines 1 to 6 of Algorithm 4."""

import numpy as np

from gpukit.device.engine import engine
from gpukit.factorization.live.device_state import GrowingTable
from gpukit.neighbors import plan as searching
from gpukit.neighbors.hashes import plan as work

SEARCHES = ("hamming", "buckets")  # by comparing codes; only new items have to be searched


class Hashes:
    """Sums and codes of N items, for neighbors.plan.Settings and the levels of the ratings."""

    def __init__(self, n_items, settings, levels, context):
        self.settings, self._live_steps = settings, context.live_steps
        self._steps = engine(context.device, "gpukit.neighbors.hashes")
        self._searching = engine(context.device, "gpukit.neighbors")
        self._weights = work.level_weights(levels.values, settings.psi)
        self._most = np.zeros(n_items, np.int64)  # bounds of the sums of |weight|
        self.tables = None

    def grow(self, n_items):
        """Grow to n_items items."""
        self._most = np.concatenate((self._most, np.zeros(n_items - len(self._most), np.int64)))
        for table in self.tables:
            table.grow(n_items)

    def add(self, columns, sign=1):
        """Add the ratings of a neighbors.columns.Columns, or subtract them (sign -1)."""
        self._most += np.diff(columns.indptr) * int(np.abs(self._weights).max(initial=0))
        self._widen(work.whole_slices(int(self._most.max(initial=0)).bit_length() + 1))
        sums = work.Sums(*(table.all for table in self.tables))
        self._steps.add_columns(columns, sign * self._weights, self.settings, sums)

    def find(self, runs, rated, neighbors):
        """Write the neighbours (N, K) of the items of each run (first, last + 1); rated (N,) uint8."""
        scores, random_slots = (
            self._live_steps.empty(neighbors.shape, np.float32),
            self._live_steps.empty(rated.size, np.int32),
        )
        lists = searching.Lists(neighbors, scores, random_slots)
        items = searching.Items(None, self.tables[2].all, rated)
        self._searching.search_rows(items, self.settings, runs, lists)

    def _widen(self, slices):
        """Widen the sums to at least `slices` bits."""
        n_items, n_words, steps = len(self._most), self.settings.n_words, self._live_steps
        if self.tables is None:
            shapes = ((n_items, slices, n_words), np.uint32), (n_items, np.int64), ((n_items, n_words), np.uint32)
            self.tables = [GrowingTable(steps.zeros(*shape), steps) for shape in shapes]
        before = self.tables[0].all
        if slices > before.shape[1]:
            wider = np.zeros((n_items, slices, n_words), np.uint32)
            wider[:, : before.shape[1]] = steps.fetch(before)
            self.tables[0] = GrowingTable(steps.resident(wider, np.uint32), steps)
