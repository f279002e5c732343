"""Arrays larger than the memory, with few accessed pages, and launches with few executed blocks."""

import math
import mmap

import numpy as np

NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)  # Linux's; Python has its name since 3.13


def sparse(shape, dtype):
    """Return an array of zeros; only written pages take memory."""
    shape, dtype = (shape,) if isinstance(shape, int) else shape, np.dtype(dtype)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE
    memory = mmap.mmap(-1, math.prod(shape) * dtype.itemsize, flags=flags)
    return np.frombuffer(memory, dtype).reshape(shape)


def with_tail(size, tail):
    """Return an array of zeros followed by the tail (along the first axis)."""
    tail = np.asarray(tail)
    out = sparse((size + len(tail), *tail.shape[1:]), tail.dtype)
    out[size:] = tail
    return out


def run_last(kernel, count, block, *arguments, blocks=1):
    """Run the last blocks of a launch of `count` threads in the simulator; return the number of its first thread."""
    from cudasim import run_blocks

    grid = -(-count // block)
    run_blocks(kernel, grid, block, [(place, 0, 0) for place in range(grid - blocks, grid)], *arguments)
    return (grid - blocks) * block
