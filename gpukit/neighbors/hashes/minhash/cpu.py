"""Host step of minHash on the CPU; gpu.py has the same function."""

import numpy as np

from gpukit.neighbors.hashes.minhash import plan, twins


def hash_codes(columns, settings):
    """Return codes (N, n_words) uint32 of the items of a Columns: p * q minwise hashings of G bits."""
    codes = np.empty((len(columns.indptr) - 1, settings.n_words), np.uint32)
    keys = plan.hashing_keys(settings.seed, settings.p * settings.q)
    twins.hash_columns(columns.indptr, columns.users, keys, settings.n_bits, codes)
    return codes
