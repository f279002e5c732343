"""Momentum of soft-impute on the CPU; kernels.py has the GPU kernels."""

import numpy as np

from gpukit.scheduler import by_block


@by_block(lambda sums: len(sums))
def compare(start, stop, estimate, before, ahead, sums):
    """Twin of kernels.compare: a block for every row of sums."""
    blocks = len(sums)
    for block in range(start, stop):
        back = moved = size = 0.0
        for i in range(block * len(ahead) // blocks, (block + 1) * len(ahead) // blocks):
            here = estimate[i]
            change = np.float64(here - before[i])
            back += np.float64(ahead[i] - here) * change
            moved += change * change
            size += np.float64(here) * np.float64(here)
        sums[block, 0], sums[block, 1], sums[block, 2] = back, moved, size


@by_block(lambda ahead: len(ahead))
def proceed(start, stop, estimate, before, known, seen, momentum, ahead):
    """Twin of kernels.proceed."""
    for k in range(stop - start):
        i = start + k
        ahead[i] = known[i] if seen[i] else estimate[i] + momentum * (estimate[i] - before[i])
