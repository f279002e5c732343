"""One-line kernel of the smoke test."""

import numpy as np

from gpukit._cuda import cuda, kernel


@kernel
def number_threads(out):
    """out[i] = i.

    out (n,) int32, overwritten.
    Launch: one block of n threads.   Deterministic: yes.
    Source: ours.
    """
    out[cuda.threadIdx.x] = np.int32(cuda.threadIdx.x)
