"""An epoch for tests, in a file of its own: the simulator replaces `cuda` in a kernel's file."""

import numpy as np

from gpukit._cuda import cuda, kernel


@kernel
def count_chunks(chunks, batch, parameters, rates, turn, workers):
    """An epoch that adds each chunk's number of ratings to the first factor of its row."""
    worker = cuda.grid(1)
    for c in range(worker, chunks.shape[0], workers):
        if worker < workers:
            cuda.atomic.add(parameters.Q, (chunks[c, 0], 0), np.float32(chunks[c, 2]))
