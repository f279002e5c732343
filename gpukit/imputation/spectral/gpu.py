"""TensorCompletion of a graph tensor on a GPU. Transforms use cuBLAS through cupy.

If the tensor does not fit in the GPU's memory, C, Z, the estimate and the missing entries are in page-locked memory.
Blocks of columns travel for the transforms, blocks of slices for the thresholding (svt/blocks.py).
"""

import warnings

import numpy as np

from gpukit import device as devices
from gpukit._cuda import cuda
from gpukit._driver import Mark, address_of, launch
from gpukit.base.arrays import is_on_gpu
from gpukit.device.upload import upload
from gpukit.device.workspace import Workspace
from gpukit.graphs.basis import vectors_on_gpu
from gpukit.imputation.constants import BLOCKS
from gpukit.imputation.spectral import cpu, kernels
from gpukit.imputation.spectral.cpu import Known, column_parts, hidden_entries, in_units, is_usual, unit_of
from gpukit.svt.blocks import BUFFERS, Travelling
from gpukit.svt.products import GpuTools, Resident, array_library
from gpukit.svt.subspace import work_of

SCRATCH = 256 << 20  # bytes of the estimate per inverse transform


class TensorCompletion(cpu.TensorCompletion):
    """Computation of one tensor on one basis; arguments, methods and results as cpu.TensorCompletion.

    observed may be cupy's on this device; missing() and completed() are then cupy's too. Memory: see `memory_needed`.
    workspace: of the run (device.workspace.Workspace), whose basis and gpukit.svt buffers are reused by the run's next
    completion; None: own buffers.
    """

    xp, on_gpu, n_sums = property(lambda self: array_library()), True, BLOCKS

    def __init__(self, basis, observed, mask, dtype, workspace=None, known=None):
        self.workspace = workspace or Workspace()
        self.describe(observed, mask)
        hidden = hidden_entries(mask, self.rows)
        vectors = vectors_on_gpu(basis.vectors, dtype, to_cupy_array, self.workspace)
        shapes = (*vectors.shape, len(self.rows)), self.shape, dtype
        self.arrays = known.arrays if known else place_arrays(*shapes, hidden is not None)
        self.hidden = None if hidden is None else self.arrays.place(hidden)
        self.unit, self.C, self.leading, _ = known or self.transform_tensor(vectors)
        self.U = vectors if len(self.rows) == len(vectors) else vectors[self.xp.asarray(self.rows)]
        self.allocate_buffers(self.C.shape[1])

    def transform_tensor(self, vectors):
        """See cpu.transform_tensor; vectors on the device."""
        unit, observed = 1.0, self.observed
        C = self.arrays.empty((vectors.shape[1], observed[0].size), vectors.dtype)
        if not is_usual(self.fill(C, vectors, observed)):
            unit = unit_of(observed)
            if unit != 1:
                self.fill(C, vectors, in_units(observed, unit))
        return Known(unit, C, None, self.arrays)

    def fill(self, C, vectors, observed):
        """Compute C = U' observed; return the largest absolute value of observed, in C's type."""
        flat, largest = observed.reshape(len(observed), -1), 0.0
        for part, target in self.arrays.each(column_parts(flat.shape[1], self.arrays), (), (C,)):
            block = flat_on_gpu(flat[part], C.dtype, self.xp)
            largest = max(largest, float(max(block.max(), -block.min())))
            self.xp.matmul(vectors.T, block, out=target)
        return largest

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
        if is_on_gpu(self.observed):
            return self.xp.array(result)
        return result.get() if hasattr(result, "get") else result.copy()


def place_arrays(sizes, shape, dtype, has_mask):
    """Return where the large arrays of a completion are: on the current GPU or, with a warning, in page-locked memory.

    sizes: vertices N, slices K, incomplete vertices; shape (m, n). The free memory is half for the columns or slices
    that travel, half for the thresholding. Raises DeviceMemoryError if the basis and one column or slice do not fit.
    """
    (N, K, rows), cells, size, tools = sizes, int(np.prod(shape)), np.dtype(dtype).itemsize, GpuTools()
    basis, work, most = work_of((K, *shape), dtype)
    column, matrix = 2 * (K + rows) * size + rows * has_mask, cells * size + basis
    fixed, estimate = rows * K * size * (rows < N), N * size  # of a column, as it is transformed back or observed
    arrays = cells * max(column, (K + N) * size) + K * basis
    needed = fixed + arrays + min(cells * estimate, SCRATCH) + min(K * work, most)
    if needed <= tools.spare_memory():
        return Resident(tools.library)
    tools.trim()
    spare, device = tools.spare_memory(), devices.gpu(cuda.get_current_device().id)
    if needed <= spare:
        return Resident(tools.library)
    per_column, per_slice = BUFFERS * column + estimate, max(BUFFERS * matrix, work)
    what = f"Imputing {N:,} slices of {shape[0]} x {shape[1]}, streamed from main memory,"
    used = devices.spare_memory() - spare
    devices.require_memory(device, used + fixed + 2 * max(per_column, per_slice), what)
    devices.require_host(cells * column + K * basis, what)
    warnings.warn(
        f"The tensor does not fit in GPU memory: {cells * (1.5 * column - rows * has_mask / 2) / 1e9:.3g} GB stream "
        "from main memory in each iteration.",
        UserWarning,
        stacklevel=2,
    )
    half = (spare - fixed) // 2
    columns, slices = (min(total, half // each) for total, each in ((cells, per_column), (K, per_slice)))
    return Travelling(tools.library, max(columns * column, slices * matrix), columns, slices)


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


def flat_on_gpu(flat, dtype, cp):
    """Return columns of observed values (N, any) on the device in dtype, not copied if possible."""
    if is_on_gpu(flat):
        return flat.astype(dtype, copy=False)
    result = cp.empty(flat.shape, dtype)
    upload(np.ascontiguousarray(flat), shared(result))
    return result
