"""A rank's share on a GPU; cpu.py has the same class. Products are cuBLAS's, through cupy.

What travels goes on a stream that does not wait for the default one, nor it for that, as a stream of numba's would: so
products and NCCL work at the same time.
"""

import numpy as np

from gpukit._cuda import SIMULATED, cuda
from gpukit._driver import Mark
from gpukit.device.upload import upload
from gpukit.graphs.basis import vectors_on_gpu
from gpukit.imputation.shared.share import Share
from gpukit.imputation.spectral import gpu
from gpukit.imputation.spectral.gpu import array_library, brought, shared


class Part(Share, gpu.Session):
    """A rank's share of a tensor: see share.Share."""

    def __init__(self, crew, shape, rows):
        self.workspace = crew.workspace
        self.shape, self.rows, self.unit, self.leading = shape, rows, 1.0, None
        self.journeys, self._stream = side_stream()

    def set_hidden(self, hidden):
        """See cpu.Part."""
        self.hidden = None if hidden is None else array_library().asarray(hidden)

    @staticmethod
    def vectors_of(basis, dtype, workspace):
        """See cpu.Part."""
        return vectors_on_gpu(basis.vectors, dtype, brought, workspace)

    @staticmethod
    def placed(observed, there):
        """See cpu.Part."""
        upload(np.ascontiguousarray(observed), shared(there))

    @staticmethod
    def rows_of(array, rows):
        """See cpu.Part."""
        return array[array_library().asarray(rows)]

    def room_for_new(self):
        """Room for all of the new estimate, which share.Share keeps."""
        return None, self.now.shape[1]

    def product(self, a, b, out, add=False):
        """See cpu.Part; in place where rows or columns are side by side, which cupy.matmul would copy."""
        if not out.size:
            return
        if SIMULATED or not all(map(plain, (a, b, out))):
            found = array_library().matmul(a, b)
            out[...] = out + found if add else found
        else:
            multiply(a, b, out, add)

    def copy(self, source, out):
        """See cpu.Part."""
        out[...] = source

    def plus(self, a, b, out):
        """See cpu.Part."""
        array_library().add(a, b, out=out)

    @staticmethod
    def zeros(shape, dtype):
        """cupy's."""
        return array_library().zeros(shape, dtype)

    @staticmethod
    def empty(shape, dtype):
        """cupy's."""
        return array_library().empty(shape, dtype)

    @staticmethod
    def contiguous(array):
        """cupy's."""
        return array_library().ascontiguousarray(array)

    @staticmethod
    def told(array):
        """See cpu.Part."""
        return shared(array)

    @staticmethod
    def fetched(array):
        """See cpu.Part."""
        return array.get()

    def mark(self):
        """An event where the default stream is now."""
        return Mark().record()

    def between(self, begun, done):
        """Seconds from one event to another."""
        return begun.seconds_to(done)


def side_stream():
    """(a stream beside the default one, as numba's; what keeps it)."""
    if SIMULATED:
        return cuda.stream(), None
    made = array_library().cuda.Stream(non_blocking=True)
    return cuda.external_stream(made.ptr), made


def plain(array):
    """Whether cuBLAS can take a matrix as it lies: several rows and columns, either of them side by side."""
    return min(array.shape) > 1 and array.itemsize in array.strides


def multiply(a, b, out, add):
    """out = a b, or out + a b, by cuBLAS; `plain` matrices, out's rows side by side."""
    cp = array_library()
    gemm = cp.cuda.cublas.sgemm if out.itemsize == 4 else cp.cuda.cublas.dgemm
    one, beta = np.ones(1, out.dtype), np.full(1, add, out.dtype)
    (m, n), k = out.shape, a.shape[1]
    gemm(
        cp.cuda.device.get_cublas_handle(),
        *(flipped(b), flipped(a), n, m, k, one.ctypes.data),
        *(b.data.ptr, pitch(b), a.data.ptr, pitch(a), beta.ctypes.data, out.data.ptr, pitch(out)),
    )


def flipped(matrix):
    """1 where columns are side by side, 0 where rows are."""
    return int(matrix.strides[1] != matrix.itemsize)


def pitch(matrix):
    """Numbers from one row to the next, or of columns side by side from one column to the next."""
    return max(matrix.strides) // matrix.itemsize
