"""Matrix rows in the registers of a group of lanes.

Lane l has the numbers 4 l to 4 l + 3, then those at a distance of 4 * lanes, and so on. `count`, the numbers per lane
(a multiple of 4), is a compile-time constant of the caller: loops unroll, and local arrays become registers. Unsigned
indices avoid the check for negative ones.
"""

import numpy as np

from gpukit._cuda import cuda, device
from gpukit.primitives.wide import add4, add_halves, load2, load4, widen

U32 = np.uint32


@device
def load_row(matrix, row, first, lane, lanes, count, out):
    """Load the lane's numbers of matrix[row, first:] into out."""
    for i in range(count // 4):
        a, b, c, d = load4(matrix, U32(row), U32(first + U32(4) * U32(lane + U32(i * lanes))))
        out[4 * i], out[4 * i + 1], out[4 * i + 2], out[4 * i + 3] = a, b, c, d


@device
def add_row(matrix, row, first, lane, lanes, count, vector, change):
    """Add change atomically to the lane's numbers of matrix[row, first:].

    vector: use the 128-bit atomic addition of compute capability 9.0.
    """
    for i in range(count // 4):
        index = U32(first + U32(4) * U32(lane + U32(i * lanes)))
        if vector:
            add4(matrix, U32(row), index, change[4 * i], change[4 * i + 1], change[4 * i + 2], change[4 * i + 3])
        else:
            for j in range(4):
                cuda.atomic.add(matrix, (U32(row), U32(index + U32(j))), change[4 * i + j])


@device
def load_stored(matrix, row, lane, lanes, count, half, stored):
    """Load the lane's numbers of a row without conversion; half: two float16 in each number of the matrix."""
    if half:
        for i in range(count // 4):
            a, b = load2(matrix, U32(row), U32(U32(2) * U32(lane + U32(i * lanes))))
            stored[2 * i], stored[2 * i + 1] = a, b
    else:
        load_row(matrix, row, U32(0), lane, lanes, count, stored)


@device
def as_floats(stored, count, half, out):
    """Convert the numbers of load_stored to float32; a separate step, because it waits for the loads."""
    if half:
        for i in range(count // 2):
            out[2 * i], out[2 * i + 1] = widen(stored[i])
    else:
        for i in range(count):
            out[i] = stored[i]


@device
def add_stored(matrix, row, lane, lanes, count, half, vector, change):
    """Add change atomically to the lane's numbers of a row in the storage format of load_stored."""
    if half:
        for i in range(count // 4):
            index = U32(U32(2) * U32(lane + U32(i * lanes)))
            quad = change[4 * i], change[4 * i + 1], change[4 * i + 2], change[4 * i + 3]
            add_halves(matrix, U32(row), index, *quad, vector)
    else:
        add_row(matrix, row, U32(0), lane, lanes, count, vector, change)


@device
def partial_dot(a, b, count):
    """Return the lane's part of the dot product of two rows."""
    total = a[0] * b[0]
    for i in range(1, count):
        total += a[i] * b[i]
    return total


@device
def store_row(matrix, row, first, lane, lanes, count, numbers):
    """Store numbers as the lane's numbers of matrix[row, first:]."""
    for i in range(count // 4):
        index = U32(first + U32(4) * U32(lane + U32(i * lanes)))
        for j in range(4):
            matrix[U32(row), U32(index + U32(j))] = numbers[4 * i + j]
