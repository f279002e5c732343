"""Kernels that unpack a block of ratings; stream_twins.py has their CPU twins, stream_packing.py packs."""

import numpy as np

from gpukit._cuda import cuda, kernel
from gpukit.factorization.solvers.sgd.formulas import spread_bits

U32, U64, I32, I64 = np.uint32, np.uint64, np.int32, np.int64


@kernel
def unpack_ratings(packed, n, width, level_bits, z, minor, values):
    """minor[t] = number >> level_bits, values[t] = z[number mod 2^level_bits] of the number of `width` bytes.

    packed (at least n * width,) uint8: little-endian numbers; n: ratings; width: 1 to 8; level_bits: 0 leaves values
    unchanged; z (256,) float32 of a level; minor (at least n,) int32 and values (at least n, or any,) float32,
    overwritten.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    mask = U64(U64(U64(1) << U64(level_bits)) - U64(1))
    for t in range(I64(cuda.grid(1)), I64(n), I64(cuda.gridsize(1))):
        number = U64(0)
        for byte in range(I64(width)):
            number |= U64(U64(packed[U64(t * I64(width) + byte)]) << U64(8 * byte))
        minor[U64(t)] = I32(number >> U64(level_bits))
        if level_bits > 0:
            values[U64(t)] = z[U32(number & mask)]


@kernel
def unpack_codes(packed, n, bits, codes):
    """codes[w] = the codes of four neighbours, a byte each; 255 where all `bits` bits are set.

    packed (at least n / 8 * bits,) uint32: bit k of word g * bits + p is bit p of the code of neighbour 32 g + k, the
    neighbours of all ratings numbered in order; n: words to write, a multiple of 8; bits: 1 to 8; codes (at least n,)
    uint32, overwritten.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    for place in range(I64(cuda.grid(1)), I64(n), I64(cuda.gridsize(1))):
        first, shift = U64((place >> I64(3)) * I64(bits)), U32(U32(4) * U32(place & I64(7)))
        word, every = U32(0), U32(15)
        for plane in range(I32(bits)):
            four = U32(U32(packed[U64(first + U64(plane))] >> shift) & U32(15))
            word |= U32(spread_bits(four) << U32(plane))
            every &= four
        codes[U64(place)] = U32(word | U32(spread_bits(every) * U32(255)))
