"""GPU kernel of the thresholding by products; twins/products.py has its CPU twin."""

import numpy as np

from gpukit._cuda import cuda, kernel

U32 = np.uint32
BLOCKS, THREADS, MATRICES = 64, 256, 4096  # of a launch; MATRICES bounds the grid's second dimension


@kernel
def combine(Y, Z, a, b, c, out):
    """Compute a matrix polynomial of each matrix.

    out = a I + b Y + c Z.

    Y, Z, out (N, p, p) float32 or float64, contiguous; a, b, c of their type.
    Launch: any grid of two dimensions, blocks of one.   Deterministic: yes.   Source: products.py.
    """
    p = U32(out.shape[1])
    for matrix in range(U32(cuda.blockIdx.y), U32(len(out)), U32(cuda.gridDim.y)):
        k = U32(matrix)
        for at in range(U32(cuda.grid(2)[0]), U32(p * p), U32(cuda.gridsize(2)[0])):
            i = U32(U32(at) // p)
            j = U32(U32(at) - U32(i * p))
            value = b * Y[k, i, j] + c * Z[k, i, j]
            out[k, i, j] = value + a if i == j else value
