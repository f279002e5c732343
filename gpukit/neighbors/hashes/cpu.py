"""Host steps of the hashes on the CPU; gpu.py has the same functions."""

import numpy as np

from gpukit.device.cpu_arrays import empty, resident  # noqa: F401  (steps of plan.py)
from gpukit.neighbors.hashes import plan, twins
from gpukit.neighbors.hashes.twins import hash_minwise, join_parts, project_columns  # noqa: F401


class Adder:
    """The sums of Eq. (3) in parts, which may come from several processes (gpukit.neighbors.shared).

    weights (L,) int64 of levels; slices: bits of the largest possible sum; codes (N, n_words) uint32, filled by `join`,
    None: new ones; unit_bytes: bytes of a unit's sums.
    """

    def __init__(self, columns, weights, slices, settings, codes=None):
        self.columns, self.weights, self.slices, self.settings = columns, weights, slices, settings
        self.codes = np.zeros((len(columns.indptr) - 1, settings.n_words), np.uint32) if codes is None else codes
        self.unit_bytes = 4 * slices * settings.n_words

    def add_up(self, units, slots):
        """Return (partials (slots, slices, n_words) uint32, totals (slots,) int64) of units (U, 4), zero in unused
        slots."""
        partials = np.zeros((slots, self.slices, self.settings.n_words), np.uint32)
        totals, keys = np.zeros(slots, np.int64), plan.word_keys(self.settings.seed, self.settings.n_words)
        rated = self.columns.users, self.columns.levels, self.weights, keys
        twins.hash_columns(*rated, units, self.settings.n_bits, self.codes, partials, totals)
        return partials, totals

    def join(self, joins, partials, totals):
        """Compute the codes of items whose units are complete: joins (J, 3)."""
        twins.join_chunks(joins, self.settings.n_bits, partials, totals, self.codes)


def add_columns(columns, weights, settings, sums, chunk=plan.CHUNK):
    """Add Columns to a stored plan.Sums; weights (L,) int64 of their levels, where a negative one removes a rating."""
    units, joins = plan.sum_units(columns.indptr, chunk)
    adder = Adder(columns, weights, sums.sums.shape[1], settings, sums.codes)
    partials, totals = adder.add_up(units, len(units))
    twins.add_chunks(joins, settings.n_bits, partials, totals, sums.whole, sums.sums, sums.codes)
    twins.add_totals(joins, totals, sums.whole)
