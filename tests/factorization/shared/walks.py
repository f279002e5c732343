"""An epoch for tests, separate because the simulator replaces `cuda` per file."""

import numpy as np

from gpukit._cuda import cuda, kernel


@kernel
def count_chunks(chunks, batch, parameters, rates, turn, workers):
    """Add each chunk's number of ratings to its row's first factor."""
    worker = cuda.grid(1)
    for c in range(worker, chunks.shape[0], workers):
        if worker < workers:
            cuda.atomic.add(parameters.Q, (chunks[c, 0], 0), np.float32(chunks[c, 2]))
