"""The oracle's codes of minwise hashings."""

import numpy as np

from gpukit.neighbors.run import hashing_keys
from gpukit.random import bits
from neighbors import naive


def oracle_codes(made, settings):
    """(N, n_bits) of 0 and 1 for items with ratings, -1 for others."""
    keys = hashing_keys(settings.seed, settings.p * settings.q)
    hashes = np.array([[bits(key, user) for key in keys] for user in range(made.shape[0])], np.uint32)
    codes = np.full((made.shape[1], settings.n_bits), -1)
    for item, values in enumerate(naive.minima(made.users, made.items, hashes, made.shape[1])):
        if values[0] is not None:
            codes[item] = [
                int(bits(np.uint32(value), np.uint32(bit // 32))) >> (bit % 32) & 1
                for value in values
                for bit in range(settings.bits)
            ]
    return codes
