"""CPU twins of stream_kernels.py."""

import numpy as np

from gpukit.factorization.solvers.sgd.formulas import spread_bits
from gpukit.scheduler import by_block

U32, U64, I32 = np.uint32, np.uint64, np.int32


@by_block(lambda n: n)
def unpack_ratings(start, stop, packed, n, width, level_bits, z, minor, values):
    """Twin of kernels.unpack_ratings."""
    mask = U64(U64(U64(1) << U64(level_bits)) - U64(1))
    for t in range(start, stop):
        number = U64(0)
        for byte in range(width):
            number |= U64(U64(packed[t * width + byte]) << U64(8 * byte))
        minor[t] = I32(number >> U64(level_bits))
        if level_bits > 0:
            values[t] = z[number & mask]


@by_block(lambda n: n)
def unpack_codes(start, stop, packed, n, bits, codes):
    """Twin of kernels.unpack_codes."""
    for place in range(start, stop):
        first, shift = place // 8 * bits, U32(4 * (place % 8))
        word, every = U32(0), U32(15)
        for plane in range(bits):
            four = U32(U32(packed[first + plane] >> shift) & U32(15))
            word |= U32(spread_bits(four) << U32(plane))
            every &= four
        codes[place] = U32(word | U32(spread_bits(every) * U32(255)))
