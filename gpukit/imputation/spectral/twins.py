"""CPU twins of the kernels of the imputation: the same names and arguments."""

from gpukit._jit import njit, prange


@njit(parallel=True)
def extrapolate(now, before, momentum):
    """Twin of kernels.extrapolate."""
    for i in prange(now.size):
        before[i] = now[i] + momentum * (now[i] - before[i])


@njit(parallel=True)
def renew(new, hidden, first, now, before, sums):
    """Twin of kernels.renew: a block for every row of sums."""
    some, blocks, rows, columns = hidden.size > 1, len(sums), new.shape[0], new.shape[1]
    for block in prange(blocks):
        change = size = 0.0
        for row in range(block * rows // blocks, (block + 1) * rows // blocks):
            for column in range(columns):
                place = first + column
                value, old = new[row, column], now[row, place]
                if some and not hidden[row, place]:
                    value = old - old
                before[row, place], now[row, place] = old, value
                change += float(value - old) ** 2
                size += float(value) ** 2
        sums[block, 0], sums[block, 1] = change, size
