"""Parameter rows over a group of lanes.

A *parameter row* has the factors, padding with zeros, and layout.EXTRA more numbers: the bias b, the sum of squared
errors s and the baseline bias of the residuals in Eq. (1). layout.Rows has its layout. Lane l holds number l of the
last eight.
"""

import numpy as np

from gpukit._cuda import cuda, device
from gpukit.factorization.model.layout import EXTRA
from gpukit.factorization.solvers.sgd.formulas import ZERO

U32 = np.uint32


@device
def lane_of(lanes):
    """Return the thread's number in its group of lanes."""
    return U32(U32(cuda.threadIdx.x) % U32(lanes))


@device
def load_extra(matrix, row, lane):
    """Load the lane's number of the last eight of a parameter row.

    The L1 cache is bypassed.
    """
    return cuda.ldcg(matrix, (row, U32(U32(matrix.shape[1] - EXTRA) + lane))) if lane < U32(EXTRA) else ZERO
