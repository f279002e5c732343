"""Host step of random projections on the CPU; gpu.py has the same function."""

import numpy as np

from gpukit.neighbors.hashes import work
from gpukit.neighbors.hashes.projection import plan, twins


def hash_codes(columns, settings, chunk=work.CHUNK):
    """Return codes (N, n_words) uint32 of the items of a Columns: signs of p * q * G projections."""
    weights, keys = work.level_weights(columns.values, 1), plan.direction_keys(settings.seed, settings.n_bits)
    units, joins, n_slots = work.work_units(columns.indptr, chunk)
    codes = np.empty((len(columns.indptr) - 1, settings.n_words), np.uint32)
    partials = np.empty((n_slots, settings.n_bits), np.int64)
    twins.project_columns(columns.users, columns.levels, weights, keys, units, codes, partials)
    twins.join_parts(joins, partials, codes)
    return codes
