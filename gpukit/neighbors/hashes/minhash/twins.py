"""CPU twin of kernels.py: the same name, the same arguments in the same order, the same integers."""

import numpy as np

from gpukit._jit import njit
from gpukit.neighbors.hashes.minhash.formulas import NONE, value_bit
from gpukit.random import bits
from gpukit.scheduler import by_block

U32 = np.uint32


@njit
def least(users, keys, values):
    """values (p * q,) = the smallest hash of the users, for each hashing."""
    values[:] = NONE
    for t in range(users.size):
        user = users[t]
        for h in range(keys.size):
            values[h] = min(values[h], bits(keys[h], user))


@by_block(lambda codes: codes.shape[0])
def hash_columns(start, stop, starts, users, keys, n_bits, codes):
    """Twin of kernels.hash_columns; vectorized over hashings."""
    for item in range(start, stop):
        values, width = np.empty(keys.size, np.uint32), n_bits // keys.size
        least(users[starts[item] : starts[item + 1]], keys, values)
        codes[item] = U32(0)
        for bit in range(n_bits):
            one = value_bit(values[bit // width], bit % width)
            codes[item, bit >> 5] |= U32(one << U32(bit & 31))
