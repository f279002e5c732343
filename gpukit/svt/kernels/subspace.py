"""GPU kernel of the thresholding in a subspace; twins/subspace.py has its CPU twin."""

import math

import numpy as np

from gpukit._cuda import cuda, factory, kernel

U32 = np.uint32


def threads_for(k):
    """Return threads of a block for a Gram matrix of k columns."""
    return 64 if k <= 16 else 128 if k <= 48 else 256


@factory
def make_whiten(real):
    """Return whiten for numbers of type real."""
    eps = real(np.finfo(real).eps)

    @kernel
    def whiten(gram, shift, out):
        """Compute out = L^-T of every Gram matrix's Cholesky factor L.

        A out then has orthonormal columns for gram = A'A. gram, out (N, k, k) of `real`, float32 or float64. shift, of
        `real`: relative increase of the diagonal. A column of out is 0 if its square is negligible relative to the
        largest, or if the part orthogonal to the columns before it is negligible.
        Launch: grid N, block threads_for(k), dynamic shared memory plan.bytes_of_whiten(k).   Deterministic: yes.
        Source: Golub and Van Loan, Matrix Computations, 4th ed., 4.2; Fukaya et al., SIAM J. Sci. Comput. 42 (2020),
        A477-A503 (the shift).
        """
        # Gaussian elimination of [gram, I] in the storage of gram: in step j a row's numbers up to j belong to the
        # right half, the others to the left one.
        space = cuda.shared.array(0, real)
        s, k, thread = U32(cuda.blockIdx.x), U32(gram.shape[1]), U32(cuda.threadIdx.x)
        lane, warp, warps = U32(thread & U32(31)), U32(thread >> U32(5)), U32(U32(cuda.blockDim.x) >> U32(5))
        pitch = U32(k | U32(1))
        diagonal, scale = U32(k * pitch), U32(U32(k * pitch) + k)
        for index in range(thread, U32(k * k), U32(cuda.blockDim.x)):
            i = U32(U32(index) // k)
            j = U32(U32(index) - U32(i * k))
            value = gram[s, i, j]
            if i == j:
                space[U32(diagonal + i)] = value
                value += shift * value
            space[U32(U32(i * pitch) + j)] = value
        cuda.syncthreads()
        largest, floor = real(0.0), real(k) * eps
        for j in range(k):
            largest = max(largest, space[U32(diagonal + U32(j))])
        for column in range(k):
            j = U32(column)
            row, square = U32(j * pitch), space[U32(diagonal + j)]
            pivot = space[U32(row + j)]
            stays = pivot > floor * square and square > eps * eps * largest
            if stays:
                for below in range(U32(U32(j + U32(1)) + warp), k, warps):
                    row_start = U32(U32(below) * pitch)
                    factor = space[U32(row_start + j)] / pivot
                    cuda.syncwarp()
                    for c in range(lane, k, U32(32)):
                        c = U32(c)
                        value = -factor
                        if c != j:
                            value = space[U32(row_start + c)] - factor * space[U32(row + c)]
                        space[U32(row_start + c)] = value
            else:
                for below in range(U32(U32(j + U32(1)) + thread), k, U32(cuda.blockDim.x)):
                    space[U32(U32(U32(below) * pitch) + j)] = real(0.0)
            if thread == U32(0):
                space[U32(scale + j)] = real(1.0) / math.sqrt(pivot) if stays else real(0.0)
            cuda.syncthreads()
        for index in range(thread, U32(k * k), U32(cuda.blockDim.x)):
            i = U32(U32(index) // k)
            j = U32(U32(index) - U32(i * k))
            value = real(0.0)
            if i < j:
                value = space[U32(U32(j * pitch) + i)] * space[U32(scale + j)]
            elif i == j:
                value = space[U32(scale + j)]
            out[s, i, j] = value

    return whiten
