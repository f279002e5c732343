"""A rank's share on a GPU; completion.Part has the CPU's. Products are cuBLAS's, through cupy.

Transport uses a stream that is not synchronized with the default one, unlike numba's streams, so that products and
NCCL overlap.
"""

import numpy as np

from gpukit._cuda import SIMULATED
from gpukit.imputation.distributed.share import Share
from gpukit.imputation.spectral import gpu
from gpukit.imputation.spectral.gpu import shared
from gpukit.svt.gpu import side_stream
from gpukit.svt.products import array_library, pitch, transpose_flag


class GpuPart(Share, gpu.TensorCompletion):
    """A rank's share of a tensor: see share.Share."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.journeys, self._stream = side_stream()

    @staticmethod
    def product(a, b, out, add=False):
        """See completion.Part. Computed in place for strided matrices, which cupy.matmul would copy."""
        if not out.size:
            return
        if SIMULATED or not all(map(is_contiguous, (a, b, out))):
            result = array_library().matmul(a, b)
            out[...] = out + result if add else result
        else:
            multiply(a, b, out, add)

    @staticmethod
    def for_transport(array):
        """See completion.Part."""
        return shared(array)


def is_contiguous(array):
    """Return True if cuBLAS can use a matrix without a copy: contiguous rows or columns, several of both."""
    return min(array.shape) > 1 and array.itemsize in array.strides


def multiply(a, b, out, add):
    """Compute out = a b, or out + a b, by cuBLAS.

    Matrices are `is_contiguous`; out's rows are contiguous.
    """
    cp = array_library()
    gemm = cp.cuda.cublas.sgemm if out.itemsize == 4 else cp.cuda.cublas.dgemm
    value, beta = np.ones(1, out.dtype), np.full(1, add, out.dtype)
    (m, n), k = out.shape, a.shape[1]
    gemm(
        cp.cuda.device.get_cublas_handle(),
        *(transpose_flag(b), transpose_flag(a), n, m, k, value.ctypes.data),
        *(b.data.ptr, pitch(b), a.data.ptr, pitch(a), beta.ctypes.data, out.data.ptr, pitch(out)),
    )
