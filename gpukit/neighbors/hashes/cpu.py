"""Host steps of the hashes on the CPU; gpu.py has the same functions."""

import functools

import numpy as np

from gpukit.neighbors.hashes import plan, twins


class Adder:
    """The sums of Eq. (3) in parts, which may come from several processes (gpukit.neighbors.shared).

    weights (L,) int64 of levels; slices: bits of the largest possible sum; codes (N, n_words) uint32, filled by `join`;
    unit_bytes: bytes of a unit's sums.
    """

    def __init__(self, columns, weights, slices, settings):
        self.columns, self.weights, self.slices, self.settings = columns, weights, slices, settings
        self.codes = np.zeros((len(columns.indptr) - 1, settings.n_words), np.uint32)
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


def add_columns(columns, weights, settings, kept, chunk=plan.CHUNK):
    """Add Columns to a stored plan.Sums; weights (L,) int64 of their levels, where a negative one removes a rating."""
    units, joins = plan.sum_units(columns.indptr, chunk)
    slices, n_words = kept.sums.shape[1:]
    partials, totals = np.empty((len(units), slices, n_words), np.uint32), np.empty(len(units), np.int64)
    keys, codes = plan.word_keys(settings.seed, n_words), np.empty((0, n_words), np.uint32)
    twins.hash_columns(columns.users, columns.levels, weights, keys, units, settings.n_bits, codes, partials, totals)
    twins.add_chunks(joins, settings.n_bits, partials, totals, kept.whole, kept.sums, kept.codes)
    twins.add_totals(joins, totals, kept.whole)


def minhash_codes(columns, settings):
    """Return codes (N, n_words) uint32 of the items of a Columns: p * q minwise hashings of G bits."""
    codes = np.empty((len(columns.indptr) - 1, settings.n_words), np.uint32)
    keys = plan.hashing_keys(settings.seed, settings.p * settings.q)
    twins.hash_minwise(columns.indptr, columns.users, keys, settings.n_bits, codes)
    return codes


def projection_codes(columns, settings, chunk=plan.CHUNK):
    """Return codes (N, n_words) uint32 of the items of a Columns: signs of p * q * G projections."""
    weights, keys = plan.level_weights(columns.values, 1), plan.direction_keys(settings.seed, settings.n_bits)
    units, joins, n_slots = plan.work_units(columns.indptr, chunk)
    codes = np.empty((len(columns.indptr) - 1, settings.n_words), np.uint32)
    partials = np.empty((n_slots, settings.n_bits), np.int64)
    twins.project_columns(columns.users, columns.levels, weights, keys, units, codes, partials)
    twins.join_parts(joins, partials, codes)
    return codes


simlsh_codes = functools.partial(plan.simlsh_codes, Adder)
CODES = {"simlsh": simlsh_codes, "minhash": minhash_codes, "projection": projection_codes}


def hash_codes(columns, settings):
    """Return codes (N, n_words) uint32 of the items of a Columns by settings.hash."""
    return CODES[settings.hash](columns, settings)
