"""Sums of simLSH, updated by new ratings (lines 1 to 6 of Algorithm 4), and tables of rows that grow."""

import numpy as np

from gpukit.device.engine import engine
from gpukit.neighbors import plan as searching
from gpukit.neighbors.hashes import plan as work

SEARCHES = ("hamming", "buckets")  # by comparing codes; only new items have to be searched
GROWTH = 1.25  # reserved rows per needed row, when a table is moved


class GrowingTable:
    """Rows of one shape and type on a device; new rows are zero.

    all: a view of the current rows, invalid after growth.
    """

    def __init__(self, array, steps):
        """array (rows, ...): on the device, used by this table alone."""
        self._memory, self._steps, self.all = array, steps, array

    def grow(self, rows, most=0):
        """Grow to `rows` rows; reserve `most` rows, or GROWTH times the rows if memory is exceeded."""
        if max(rows, most) > self._memory.shape[0]:
            shape = max(int(GROWTH * rows), most), *self._memory.shape[1:]
            larger = self._steps.zeros(shape, self._memory.dtype)
            self._steps.copy(larger[: self.all.shape[0]], self.all)
            self._memory, self.all = larger, larger[:rows]
        elif rows != self.all.shape[0]:
            self.all = self._memory[:rows]


class Hashes:
    """Sums and codes of N items, for neighbors.plan.Settings and all values (L,) float32 of ratings, ascending."""

    def __init__(self, n_items, settings, values, device):
        self.settings, self._steps = settings, engine(device, __package__)
        self._values, self._weights = values, work.level_weights(values, settings.psi)
        self._hashing, self._searching = engine(device, "gpukit.neighbors.hashes"), engine(device, "gpukit.neighbors")
        self._most = np.zeros(n_items, np.int64)  # bounds of the sums of |weight|
        self.tables = None

    def grow(self, n_items):
        """Grow to n_items items; the tables grow with the others."""
        self._most = np.concatenate((self._most, np.zeros(n_items - len(self._most), np.int64)))

    def add(self, columns, values, sign=1):
        """Add the ratings of a neighbors.columns.Columns, or subtract them (sign -1); values: ratings of its levels."""
        weights = self._weights[np.searchsorted(self._values, values)]
        self._most += np.diff(columns.indptr) * int(np.abs(weights).max(initial=0))
        self._widen(work.whole_slices(int(self._most.max(initial=0)).bit_length() + 1))
        sums = work.Sums(*(table.all for table in self.tables))
        self._hashing.add_columns(columns, sign * weights, self.settings, sums)

    def find(self, runs, rated, neighbors):
        """Write the neighbours (N, K) of the items of each run (first, last + 1); rated (N,) uint8."""
        scores = self._steps.empty(neighbors.shape, np.float32)
        random_slots = self._steps.empty(rated.size, np.int32)
        items = searching.Items(None, self.tables[2].all, rated)
        self._searching.search_rows(items, self.settings, runs, searching.Lists(neighbors, scores, random_slots))

    def _widen(self, slices):
        """Widen the sums to at least `slices` bits."""
        n_items, n_words, steps = len(self._most), self.settings.n_words, self._steps
        if self.tables is None:
            shapes = ((n_items, slices, n_words), np.uint32), (n_items, np.int64), ((n_items, n_words), np.uint32)
            self.tables = [GrowingTable(steps.zeros(*shape), steps) for shape in shapes]
        before = self.tables[0].all
        if slices > before.shape[1]:
            wider = np.zeros((n_items, slices, n_words), np.uint32)
            wider[:, : before.shape[1]] = steps.fetch(before)
            self.tables[0] = GrowingTable(steps.resident(wider, np.uint32), steps)
