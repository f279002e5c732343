"""Host steps of simLSH on the CPU; gpu.py has the same functions."""

import numpy as np

from gpukit.neighbors.hashes import work
from gpukit.neighbors.hashes.simlsh import plan, twins


def hash_codes(columns, settings, chunk=work.CHUNK):
    """Eq. (3) for all p * q hashings: codes (N, n_words) uint32 of the items of gpukit.neighbors.columns.Columns."""
    weights = work.level_weights(columns.values, settings.psi)
    units, joins, n_slots = work.work_units(columns.indptr, chunk)
    slices, n_words = plan.sum_slices(columns.indptr, weights), settings.n_words
    codes = np.empty((len(columns.indptr) - 1, n_words), np.uint32)
    partials, totals = np.empty((n_slots, slices, n_words), np.uint32), np.empty(n_slots, np.int64)
    keys = plan.word_keys(settings.seed, n_words)
    twins.hash_columns(columns.users, columns.levels, weights, keys, units, settings.n_bits, codes, partials, totals)
    twins.join_chunks(joins, settings.n_bits, partials, totals, codes)
    return codes


def add_columns(columns, weights, settings, kept, chunk=work.CHUNK):
    """Add Columns to a plan.Sums that is kept; weights (L,) int64: of their levels, a negative one takes back."""
    units, joins = work.sum_units(columns.indptr, chunk)
    slices, n_words = kept.sums.shape[1:]
    partials, totals = np.empty((len(units), slices, n_words), np.uint32), np.empty(len(units), np.int64)
    keys, codes = plan.word_keys(settings.seed, n_words), np.empty((0, n_words), np.uint32)
    twins.hash_columns(columns.users, columns.levels, weights, keys, units, settings.n_bits, codes, partials, totals)
    twins.add_chunks(joins, settings.n_bits, partials, totals, kept.whole, kept.sums, kept.codes)
    twins.add_totals(joins, totals, kept.whole)
