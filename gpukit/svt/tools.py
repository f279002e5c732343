"""Array operations of a device: products of many small matrices, exact thresholding, memory.

CpuTools and GpuTools have the same attributes. Arrays are numpy's in one, and cupy's on the default stream in the
other.
"""

import numpy as np

from gpukit.device.workspace import Workspace
from gpukit.errors import DeviceError
from gpukit.svt.plan import bytes_of_whiten, converged


def make_tools(on_gpu, workspace=None):
    """Return GpuTools or CpuTools; workspace: device.workspace.Workspace of a run on a GPU, or None."""
    return GpuTools(workspace) if on_gpu else CpuTools()


def transposed(matrices):
    """Return the transpose of each matrix."""
    return matrices.swapaxes(1, 2)


class CpuTools:
    """Array operations on the host."""

    SCRATCH = 4 << 20  # bytes that fit into the caches
    library = np
    product = staticmethod(np.matmul)
    array = staticmethod(np.asarray)
    empty = staticmethod(np.empty)
    host = staticmethod(np.asarray)
    numbers = staticmethod(np.flatnonzero)

    def __init__(self):
        self.work = None

    def full(self, count, value):
        """Return (count,) int32 of a value."""
        return np.full(count, value, np.int32)

    def trim(self):
        """Release freed memory: nothing is kept."""

    def whiten(self, gram, shift, out):
        """See kernels.subspace.whiten."""
        from gpukit.svt.twins import subspace as subspace_twins

        subspace_twins.whiten(gram, shift, out)

    def combine(self, Y, Z, polynomial, out):
        """See kernels.products.combine."""
        from gpukit.svt.twins import bulge_chasing as products_twins

        products_twins.combine(Y, Z, *(Y.dtype.type(factor) for factor in polynomial), out)

    def threshold(self, X, lam, cap, whole):
        """Threshold slices in place; return (values, ranks) on the host."""
        from gpukit.svt import cpu

        return cpu.threshold(X, lam, X, whole, cap)

    def thresholding(self, X, lam, cap, whole):
        """Return an object whose run() is `threshold` of the same arrays.

        The objects run one after another and share buffers if their sizes allow.
        """
        return CpuThresholding(X, lam, cap, whole, self.reuse_workspace(*X.shape[:2], X.dtype))

    def reuse_workspace(self, slices, p, dtype):
        """Return cpu.workspace for at least `slices` slices p x p.

        It is the last one if that fits.
        """
        from gpukit.svt import cpu

        V = None if self.work is None else self.work.V
        if V is None or len(V) < slices or V.shape[1] != p or V.dtype != dtype:
            self.work = cpu.workspace(slices, p, dtype)
        return self.work


class CpuThresholding:
    """Thresholding of all slices at once; see CpuTools.thresholding."""

    def __init__(self, X, lam, cap, whole, work):
        from gpukit.svt import cpu

        self.arguments, self.batch, self.work = (X, lam, cap), cpu.batch, work
        self.values = np.empty((len(X), X.shape[1] if whole else 0), X.dtype)
        self.ranks = np.empty(len(X), np.int32)

    def run(self):
        """Threshold X in place; return (values, ranks)."""
        X, lam, cap = self.arguments
        self.batch(X, lam, cap, self.work, X, self.values, self.ranks)
        return self.values, converged(self.ranks)


class GpuTools:
    """Array operations on a GPU; see CpuTools."""

    SCRATCH = 5 << 28  # bytes; much smaller batches have too few cores to fill the device

    def __init__(self, workspace=None):
        try:
            import cupy
            from cupy.cuda import cublas
        except ImportError:
            raise DeviceError(
                "thresholding by matrix products needs cupy on a GPU, which is not installed: "
                "pip install 'gpukit[cuda]'."
            ) from None
        from gpukit._cuda import cuda
        from gpukit.svt import gpu
        from gpukit.svt.kernels import subspace as subspace_kernels

        self.library, self.cublas, self.cuda, self.exact, self.kernels = cupy, cublas, cuda, gpu, subspace_kernels
        self.array, self.empty, self.host, self.numbers = cupy.asarray, cupy.empty, cupy.asnumpy, cupy.flatnonzero
        self.prepared, self.workspace = (None, None), workspace or Workspace()

    def full(self, count, value):
        """Return (count,) int32 of a value."""
        return self.library.full(count, value, np.int32)

    def trim(self):
        """Release freed memory of numba and of cupy's pool."""
        self.cuda.current_context().deallocations.clear()
        self.library.get_default_memory_pool().free_all_blocks()

    def product(self, a, b, out):
        """Compute out = a b, all (N, rows, columns).

        a and b are contiguous or transposed; cupy.matmul would copy transposed ones.
        """
        gemm = self.cublas.sgemmStridedBatched if out.itemsize == 4 else self.cublas.dgemmStridedBatched
        one, zero = np.ones(1, out.dtype), np.zeros(1, out.dtype)
        (batch, m, n), k = out.shape, a.shape[2]
        gemm(
            self.library.cuda.device.get_cublas_handle(),
            flipped(b),
            flipped(a),
            n,
            m,
            k,
            one.ctypes.data,
            b.data.ptr,
            pitch(b),
            b.shape[1] * b.shape[2],
            a.data.ptr,
            pitch(a),
            m * k,
            zero.ctypes.data,
            out.data.ptr,
            n,
            m * n,
            batch,
        )

    def shared(self, array):
        """Return a cupy array as numba's without synchronization: both use the default stream."""
        return self.cuda.as_cuda_array(array, sync=False)

    def whiten(self, gram, shift, out):
        """See kernels.subspace.whiten."""
        from gpukit._cuda import with_shared_memory

        k, make = gram.shape[1], self.kernels.make_whiten
        launch = with_shared_memory(
            make(gram.dtype.type), len(gram), self.kernels.threads_for(k), bytes_of_whiten(k, gram.itemsize)
        )
        launch(self.shared(gram), shift, self.shared(out))

    def combine(self, Y, Z, polynomial, out):
        """See kernels.products.combine."""
        from gpukit.svt.kernels import bulge_chasing as products_kernels

        factors = (Y.dtype.type(factor) for factor in polynomial)
        grid = products_kernels.BLOCKS, min(len(out), products_kernels.MATRICES)
        launch = products_kernels.combine[grid, products_kernels.THREADS]
        launch(self.shared(Y), self.shared(Z), *factors, self.shared(out))

    def threshold(self, X, lam, cap, whole):
        """See CpuTools. Buffers for a number of slices, a power of two, are reused by the next call."""
        capacity = 1 << (len(X) - 1).bit_length()
        key = capacity, *X.shape[1:], X.dtype, whole
        if self.prepared[0] != key:
            self.prepared = None, None  # release memory first
            arrays = (
                self.empty((capacity, *X.shape[1:]), X.dtype),
                self.empty(capacity, X.dtype),
                self.full(capacity, 0),
            )
            arrays[0][...], arrays[1][...] = 0, 0
            self.prepared = key, (arrays, self.thresholding(*arrays, whole))
        arrays, exact = self.prepared[1]
        for array, source in zip(arrays, (X, lam, cap)):
            array[: len(X)] = source
        values, ranks = exact.run()
        X[...] = arrays[0][: len(X)]
        return values[: len(X)], ranks[: len(X)]

    def thresholding(self, X, lam, cap, whole):
        """See CpuTools."""
        return GpuThresholding(self, X, lam, cap, whole)


class GpuThresholding:
    """See CpuTools.thresholding."""

    def __init__(self, tools, X, lam, cap, whole):
        X, lam, cap = (tools.shared(array) for array in (X, lam, cap))
        self.work = tools.exact.Thresholding(X, lam, X, whole, cap, tools.workspace)

    def run(self):
        """Threshold X in place; return (values, ranks) on the host."""
        self.work.run()
        return self.work.values.copy_to_host(), self.work.fetch_ranks()


def flipped(matrices):
    """Return 1 for transposed matrices, 0 for contiguous ones."""
    return int(matrices.strides[2] != matrices.itemsize)


def pitch(matrices):
    """Return the distance of two rows in memory; of two columns for transposed matrices."""
    return matrices.shape[1] if flipped(matrices) else matrices.shape[2]
