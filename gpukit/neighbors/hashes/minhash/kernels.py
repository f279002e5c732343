"""GPU kernel of minHash; twins.py has it for the CPU."""

import numpy as np

from gpukit._cuda import cuda, device, kernel
from gpukit.neighbors.hashes.minhash.formulas import NONE, value_bit
from gpukit.primitives.warp import group_max
from gpukit.random import bits

I64, U32, U64 = np.int64, np.uint32, np.uint64
WARP = 32


@device
def least(users, begin, end, key):
    """Return the smallest hash of the users begin:end, by all lanes of a warp."""
    value = NONE
    for t in range(begin + I64(cuda.threadIdx.x % WARP), end, I64(WARP)):
        value = min(value, bits(key, users[U64(t)]))
    return U32(-group_max(-I64(value), WARP))


@kernel
def hash_columns(starts, users, keys, n_bits, codes):
    """Code words of minwise hashings: hashing h has the bits h * G to (h + 1) * G of a code.

    starts (N + 1,) int64 and users (n,) int32: ratings by item; keys (p * q,) uint32; n_bits int, p * q * G; codes
    (N, W) uint32, overwritten, zero past n_bits.
    Launch: grid ceil(32 N W / block), block a multiple of 32: a warp a word.   Deterministic: yes, exact.
    Source: Broder 1997; Li and Koenig 2010.
    """
    warp = I64(cuda.blockIdx.x) * I64(cuda.blockDim.x // WARP) + I64(cuda.threadIdx.x // WARP)
    item, word = warp // codes.shape[1], I64(warp % codes.shape[1])
    if item >= codes.shape[0]:
        return
    width, code = I64(n_bits // keys.size), U32(0)
    begin, end = I64(word * I64(WARP)), min(I64(word * I64(WARP) + I64(WARP)), I64(n_bits))
    bit = begin
    while bit < end:
        hashing = bit // width
        value = least(users, starts[U64(item)], starts[U64(item) + U64(1)], keys[U64(hashing)])
        while bit < end and bit // width == hashing:
            code |= U32(value_bit(value, bit - hashing * width) << U32(bit - begin))
            bit += 1
    if cuda.threadIdx.x % WARP == 0:
        codes[U64(item), U64(word)] = code
