"""TensorCompletion of a graph tensor on a GPU. Transforms use cuBLAS through cupy.

If the tensor does not fit in the GPU's memory, C, Z, the estimate and the missing entries are in page-locked memory.
Blocks of columns travel for the transforms, blocks of slices for the thresholding (svt.gpu.Travelling).
"""

import warnings

import numpy as np

from gpukit import device as devices
from gpukit._cuda import cuda
from gpukit._driver import Mark, address_of, launch
from gpukit.device.upload import upload
from gpukit.device.workspace import Workspace
from gpukit.graphs.basis import vectors_on_gpu
from gpukit.imputation.constants import BLOCKS
from gpukit.imputation.spectral import cpu, kernels
from gpukit.svt.gpu import BUFFERS, Travelling
from gpukit.svt.plan import Resident
from gpukit.svt.products import GpuTools, array_library
from gpukit.svt.subspace import work_of

SCRATCH = 256 << 20  # bytes of the estimate per inverse transform


def memory_needed(sizes, shape, dtype, has_mask):
    """Return device bytes of a completion besides its basis: (resident, of parts: a tuple).

    sizes: vertices N, slices K, incomplete vertices; shape (m, n). Parts: what does not travel, a column of all arrays,
    what its transforms need, a slice with its basis, the work on it.
    """
    (N, K, rows), cells, size = sizes, int(np.prod(shape)), np.dtype(dtype).itemsize
    basis, work, most = work_of((K, *shape), dtype)
    fixed, column = rows * K * size * (rows < N), 2 * (K + rows) * size + rows * has_mask
    arrays = cells * max(column, (K + N) * size) + K * basis
    resident = fixed + arrays + min(cells * rows * size, SCRATCH) + min(K * work, most)
    return resident, (fixed, column, N * size, cells * size + basis, work)


def place_arrays(sizes, shape, dtype, has_mask):
    """Return where the large arrays of a completion are: on the current GPU or, with a warning, in page-locked memory.

    Arguments: see memory_needed. Half of the free memory is for the columns or slices that travel, half for the
    thresholding. Raises DeviceMemoryError if a column or slice does not fit.
    """
    tools, (needed, (fixed, column, transform, matrix, work)) = GpuTools(), memory_needed(sizes, shape, dtype, has_mask)
    if needed > tools.spare_memory():
        tools.trim()
    spare = tools.spare_memory()
    if needed <= spare:
        return Resident(tools.library)
    cells, device = int(np.prod(shape)), devices.gpu(cuda.get_current_device().id)
    each, half = (BUFFERS * column + transform, max(BUFFERS * matrix, work)), (spare - fixed) // 2
    what = f"Imputing {sizes[0]:,} slices of {shape[0]} x {shape[1]}, streamed from main memory,"
    devices.require_memory(device, devices.spare_memory() - spare + fixed + 2 * max(each), what)
    devices.require_host(cells * column + sizes[1] * matrix, what)
    warnings.warn(
        f"The tensor does not fit in GPU memory: {1.5 * cells * column / 1e9:.3g} GB stream from main memory in each "
        "iteration.",
        UserWarning,
        stacklevel=2,
    )
    columns, slices = (min(total, half // bytes_of_one) for total, bytes_of_one in zip((cells, sizes[1]), each))
    return Travelling(tools.library, max(columns * column, slices * matrix), columns, slices)


class TensorCompletion(cpu.TensorCompletion):
    """Computation of one tensor on one basis; arguments, methods and results as cpu.TensorCompletion.

    Memory: see `memory_needed`.
    workspace: of the run (device.workspace.Workspace), whose basis and gpukit.svt buffers are reused by the run's next
    completion; None: own buffers.
    """

    xp, on_gpu, n_sums = property(lambda self: array_library()), True, BLOCKS
    place_arrays = staticmethod(place_arrays)

    def vectors_of(self, basis, dtype):
        """See cpu.TensorCompletion."""
        self.workspace = self.workspace or Workspace()
        return vectors_on_gpu(basis.vectors, dtype, to_cupy_array, self.workspace)

    @staticmethod
    def copy_to_device(observed, target):
        """See cpu.TensorCompletion."""
        upload(np.ascontiguousarray(observed), shared(target))

    def allocate_buffers(self, columns):
        """See cpu.TensorCompletion."""
        self.tables = {}
        super().allocate_buffers(columns)

    def width(self):
        """See cpu.TensorCompletion."""
        columns = min(self.now.shape[1], self.arrays.columns or self.now.shape[1])
        return max(1, min(columns, SCRATCH // max(1, len(self.U) * self.now.itemsize)))

    def table(self, array):
        """Return a device array as numba's, kept for the next launch."""
        key = address_of(array), array.shape, array.dtype
        if key not in self.tables:
            self.tables[key] = shared(array)
        return self.tables[key]

    def mark(self):
        """See cpu.TensorCompletion."""
        return Mark().record()

    def between(self, start, end):
        """See cpu.TensorCompletion."""
        return start.seconds_to(end)

    def extrapolate(self, now, before, momentum):
        """See cpu.TensorCompletion."""
        arrays = (self.table(array.ravel()) for array in (now, before))
        launch(kernels.extrapolate, len(self.sums), kernels.THREADS, *arrays, now.dtype.type(momentum))

    def keep(self, new, first, tables):
        """See cpu.TensorCompletion."""
        hidden, now, before, sums = map(self.table, (*tables, self.sums))
        launch(kernels.renew, len(self.sums), kernels.THREADS, self.table(new), hidden, first, now, before, sums)
        return self.sums.get().sum(axis=0)

    def given_back(self, result):
        """See cpu.TensorCompletion."""
        return result.get() if hasattr(result, "get") else result.copy()


def shared(array):
    """Return a cupy array as numba's without synchronization: both use the default stream."""
    return cuda.as_cuda_array(array, sync=False)


def to_cupy_array(array, dtype):
    """Return a host array (N, K) as cupy's of a dtype.

    It is copied through the upload buffers, in the same memory order.
    """
    turned = not array.flags.c_contiguous
    source = np.ascontiguousarray(array.T if turned else array)
    device_array = array_library().empty(source.shape, dtype)
    upload(source, shared(device_array))
    return device_array.T if turned else device_array
