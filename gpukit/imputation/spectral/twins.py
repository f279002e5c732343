"""CPU twins of the kernels of the imputation: the same names and arguments."""

import numpy as np

from gpukit.scheduler import by_block

ZERO = np.float32(0.0)  # promoted to float64 with a float64 operand


@by_block(lambda now: now.size)
def extrapolate(start, stop, now, before, momentum):
    """Twin of kernels.extrapolate."""
    for k in range(stop - start):
        i = start + k
        before[i] = now[i] + momentum * (now[i] - before[i])


@by_block(lambda sums: len(sums))
def renew(start, stop, new, hidden, first, now, before, sums):
    """Twin of kernels.renew: a block for every row of sums."""
    has_mask, blocks, rows, columns = hidden.size == now.size, len(sums), new.shape[0], new.shape[1]
    for block in range(start, stop):
        change = size = 0.0
        for row in range(block * rows // blocks, (block + 1) * rows // blocks):
            for column in range(columns):
                place = first + column
                is_present = not has_mask or hidden[row, place]
                value, old = new[row, column] if is_present else ZERO, now[row, place]
                before[row, place], now[row, place] = old, value
                change += float(value - old) ** 2
                size += float(value) ** 2
        sums[block, 0], sums[block, 1] = change, size
