"""CPU twin of kernels.py."""

import numpy as np

from gpukit._jit import njit
from gpukit.factorization.model.layout import EXTRA, SQUARES
from gpukit.factorization.solvers.sgd.places.kernels import RUN


@njit
def grow_rows(minor, every, share, Q):
    """Twin of kernels.make_grow_rows, with factors in float32."""
    first = Q.shape[1] - EXTRA
    for run in range(0, minor.size, RUN * every):
        for t in range(run, min(run + RUN, minor.size)):
            row = Q[np.uint32(minor[t])]
            for i in range(first + SQUARES + 1):
                row[i] += np.float32(share * row[i])
