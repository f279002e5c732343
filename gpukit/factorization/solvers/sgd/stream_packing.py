"""Pack ratings on the host, in the order in which an epoch reads them; stream_kernels.py unpacks."""

import numpy as np

from gpukit.factorization.model.layout import NO_NEIGHBOR
from gpukit.scheduler import by_block

U8, U32, U64 = np.uint8, np.uint32, np.uint64


@by_block(lambda chunks: chunks.shape[0])
def pack_ratings(start, stop, chunks, slots, places, minor, values, z, level_bits, width, packed):
    """packed[slot] = places[minor row] << level_bits | level, little-endian, for the ratings of chunks.

    chunks (n, 3) int64: major row, first rating, ratings; slots (n,) int64: where its ratings go; places (rows,)
    int32: position of each minor row; minor (all ratings,) int32, values float32; z (levels,) float32, ascending;
    level_bits: 0 packs rows alone; width: bytes of a number; packed (n_ratings * width,) uint8, overwritten.
    """
    for c in range(start, stop):
        first, slot = chunks[c, 1], slots[c]
        for t in range(chunks[c, 2]):
            number = U64(places[minor[first + t]])
            if level_bits > 0:
                low, high = 0, z.size - 1
                while low < high:
                    middle = (low + high) // 2
                    if z[middle] < values[first + t]:
                        low = middle + 1
                    else:
                        high = middle
                number = U64(U64(number << U64(level_bits)) | U64(low))
            for byte in range(width):
                packed[(slot + t) * width + byte] = U8((number >> U64(8 * byte)) & U64(255))


@by_block(lambda chunks: chunks.shape[0])
def pack_codes(start, stop, chunks, slots, codes, bits, packed):
    """Write the codes of chunks' ratings as bit planes; see stream_kernels.unpack_codes.

    chunks, slots: see pack_ratings; codes (all ratings, K) uint8; bits: of a code; packed (n_ratings * K / 32 * bits,)
    uint32, overwritten.
    """
    groups, empty = codes.shape[1] // 32, U32((1 << bits) - 1)
    for c in range(start, stop):
        for t in range(chunks[c, 2]):
            line = codes[chunks[c, 1] + t]
            for g in range(groups):
                first = ((slots[c] + t) * groups + g) * bits
                for plane in range(bits):
                    packed[first + plane] = U32(0)
                for k in range(32):
                    code = empty if line[32 * g + k] == NO_NEIGHBOR else U32(line[32 * g + k])
                    for plane in range(bits):
                        packed[first + plane] |= U32(U32(U32(code >> U32(plane)) & U32(1)) << U32(k))


@by_block(lambda chunks: chunks.shape[0])
def pack_numbers(start, stop, chunks, slots, numbers, packed):
    """packed[slot] = number of each rating of chunks; see pack_ratings.

    numbers (all ratings,) and packed (n_ratings,) float32.
    """
    for c in range(start, stop):
        first, slot = chunks[c, 1], slots[c]
        for t in range(chunks[c, 2]):
            packed[slot + t] = numbers[first + t]
