"""Arrays larger than the machine, of which a few pages are touched, and launches of which a few blocks run."""

import math
import mmap

import numpy as np

NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)  # Linux's; Python knows its name since 3.13


def sparse(shape, dtype):
    """An array of zeros; only what is written takes memory."""
    shape, dtype = (shape,) if isinstance(shape, int) else shape, np.dtype(dtype)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE
    memory = mmap.mmap(-1, math.prod(shape) * dtype.itemsize, flags=flags)
    return np.frombuffer(memory, dtype).reshape(shape)


def with_tail(size, tail):
    """An array of so many zeros and, behind them, the tail (along the first axis)."""
    tail = np.asarray(tail)
    out = sparse((size + len(tail), *tail.shape[1:]), tail.dtype)
    out[size:] = tail
    return out


def run_last(kernel, count, block, *arguments, blocks=1):
    """The last blocks of a launch of `count` threads, in the simulator; the number of its first thread."""
    from cudasim import run_blocks

    grid = -(-count // block)
    run_blocks(kernel, grid, block, [(place, 0, 0) for place in range(grid - blocks, grid)], *arguments)
    return (grid - blocks) * block
