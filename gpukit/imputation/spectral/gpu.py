"""TensorCompletion of a graph tensor on a GPU. Transforms use cuBLAS through cupy."""

import numpy as np

from gpukit._cuda import cuda
from gpukit._driver import Mark, launch
from gpukit.base.arrays import is_on_gpu
from gpukit.device.upload import upload
from gpukit.device.workspace import Workspace
from gpukit.errors import DeviceError
from gpukit.graphs.basis import vectors_on_gpu
from gpukit.imputation.constants import BLOCKS
from gpukit.imputation.spectral import cpu, kernels
from gpukit.imputation.spectral.cpu import LARGE, Known, hidden_entries, in_units, lacking, unit_of
from gpukit.svt.gpu import Thresholding
from gpukit.svt.subspace import WarmThresholding, pays

SCRATCH = 256 << 20  # bytes of the estimate per inverse transform
UNKNOWN = object()  # the device's caps are not initialized


class TensorCompletion(cpu.TensorCompletion):
    """Computation of one tensor on one basis; arguments, methods and results as cpu.TensorCompletion.

    observed may be cupy's on this device; missing() and completed() are then cupy's too. Memory: C and Z, a copy of the
    tensor each; the estimate and its last step, two copies of the incomplete vertices; the basis; and gpukit.svt's
    buffers of a batch, at most a GiB, more for a few large slices, and the bases of their subspaces. workspace: of the
    run (device.workspace.Workspace), whose basis and gpukit.svt buffers are reused by the run's next completion; None:
    own buffers.
    """

    xp = property(lambda self: array_library())

    def __init__(self, basis, observed, mask, dtype, workspace=None, known=None):
        self.workspace = workspace or Workspace()
        self.mask, self.observed, self.shape = mask, observed, observed.shape[1:]
        self.rows = lacking(mask)
        cp = array_library()
        hidden = hidden_entries(mask, self.rows)
        self.hidden = None if hidden is None else cp.asarray(hidden)
        vectors = vectors_on_gpu(basis.vectors, dtype, to_cupy_array, self.workspace)
        self.unit, self.C, self.leading = known or transform_tensor(vectors, observed, dtype, cp)
        self.U = vectors if len(self.rows) == len(vectors) else vectors[cp.asarray(self.rows)]
        now = cp.zeros((len(self.rows), self.C.shape[1]), dtype)
        self.allocate_buffers(now, cp.zeros_like(now))

    def allocate_buffers(self, now, before):
        """See cpu.TensorCompletion."""
        cp, dtype = array_library(), now.dtype
        self.now, self.before = now, before
        self.rounding = 10.0 * float(np.finfo(dtype).eps)
        self.Z = cp.empty_like(self.C)
        self.lam, self.cap = cp.zeros(len(self.C), dtype), cp.zeros(len(self.C), np.int32)
        self.sums = cp.zeros((BLOCKS, 2))
        self.new, self.columns = self.allocate_estimate()
        hidden = cp.ones((1, 1), bool) if self.hidden is None else self.hidden
        self.lists = [shared(array.ravel()) for array in (self.now, self.before)]
        self.seconds = {"transform": 0.0, "thresholding": 0.0}
        self.tables = [shared(array) for array in (hidden, self.now, self.before, self.sums)]
        Z = self.slices(self.Z)
        self.warm = WarmThresholding(Z, True, workspace=self.workspace) if pays(Z.shape, True) else None
        self.threshold = None if self.warm else self.thresholding(shared(Z))
        self.capped = UNKNOWN

    def allocate_estimate(self):
        """Return (buffer for some columns of the new estimate, flat; their number)."""
        columns = max(1, min(self.now.shape[1], SCRATCH // max(1, len(self.U) * self.Z.itemsize)))
        return array_library().empty(len(self.U) * columns, self.Z.dtype), columns

    def largest(self):
        """See cpu.TensorCompletion."""
        if self.leading is None or self.warm:  # this also initializes the subspace
            self.Z[...] = self.C
            values = self.warm.leading().astype(np.float64) / self.unit if self.warm else self._values(self.Z)
            self.leading = values[:, 0]
        return self.leading

    def _values(self, flat):
        """Return (K, min(m, n)) float64 on the host: the singular values of the slices of Z, which is flat."""
        whole = self.thresholding(None, whole=True)
        whole.run()
        whole.fetch_ranks()
        return whole.values.copy_to_host().astype(np.float64) / self.unit

    def thresholding(self, out, **options):
        """Return a gpukit.svt Thresholding of Z's slices, by lam and cap."""
        Z, lam, cap = shared(self.slices(self.Z)), shared(self.lam), shared(self.cap)
        return Thresholding(Z, lam, out, cap=cap, workspace=self.workspace, **options)

    def mark(self):
        """See cpu.TensorCompletion."""
        return Mark().record()

    def between(self, start, end):
        """See cpu.TensorCompletion."""
        return start.seconds_to(end)

    def extrapolate(self, momentum):
        """See cpu.TensorCompletion."""
        launch(kernels.extrapolate, BLOCKS, kernels.THREADS, *self.lists, momentum)

    def thresholded(self, lam, cap):
        """Threshold Z's slices and return the ranks; None if exact, without synchronization."""
        if self.warm:
            return self.warm.run(lam, cap)
        self.lam.set(np.ascontiguousarray(lam, self.lam.dtype))
        if cap is not self.capped:
            self.cap.set(np.full(len(self.cap), min(self.shape), np.int32) if cap is None else cap.astype(np.int32))
            self.capped = cap
        self.threshold.run()

    def transform_back(self):
        """See cpu.TensorCompletion."""
        totals = np.zeros(2)
        for first in range(0, self.now.shape[1], self.columns):
            Z = self.Z[:, first : first + self.columns]
            new = self.new[: len(self.U) * Z.shape[1]].reshape(len(self.U), -1)
            array_library().matmul(self.U, Z, out=new)
            totals += self.keep(new, first)
        return float(totals[0]), float(totals[1])

    def keep(self, new, first):
        """See cpu.TensorCompletion."""
        hidden, now, before, sums = self.tables
        launch(kernels.renew, BLOCKS, kernels.THREADS, shared(new), hidden, first, now, before, sums)
        return self.sums.get().sum(axis=0)

    def given_back(self, result):
        """See cpu.TensorCompletion."""
        return result.copy() if is_on_gpu(self.observed) else result.get()


def shared(array):
    """Return a cupy array as numba's without synchronization: both use the default stream."""
    return cuda.as_cuda_array(array, sync=False)


def transform_tensor(vectors, observed, dtype, cp):
    """See cpu.transform_tensor; vectors on the device."""
    unit, flat = upload_observed(observed, dtype, cp)
    return Known(unit, vectors.T @ flat, None)


def to_cupy_array(array, dtype):
    """Return a host array (N, K) as cupy's of a dtype.

    It is copied through the upload buffers, in the same memory order.
    """
    turned = not array.flags.c_contiguous
    source = np.ascontiguousarray(array.T if turned else array)
    device_array = array_library().empty(source.shape, dtype)
    upload(source, shared(device_array))
    return device_array.T if turned else device_array


def upload_observed(observed, dtype, cp):
    """Return (unit, observed (N, m n) in units on the device).

    Observed values have dtype; their range is checked on the device.
    """
    flat = flat_on_gpu(observed, dtype, cp)
    largest = float(max(flat.max(), -flat.min()))
    unit = 1.0 if 1 / LARGE <= largest <= LARGE else unit_of(observed)
    return unit, flat if unit == 1 else flat_on_gpu(in_units(observed, unit), dtype, cp)


def flat_on_gpu(observed, dtype, cp):
    """Return observed (N, m, n) as (N, m n) on the device.

    It has dtype; it is not copied if possible.
    """
    if is_on_gpu(observed):
        return observed.reshape(len(observed), -1).astype(dtype, copy=False)
    flat = cp.empty((len(observed), observed[0].size), dtype)
    upload(np.ascontiguousarray(observed), shared(flat))
    return flat


def array_library():
    """Return cupy; raise DeviceError if it is not installed."""
    try:
        import cupy
    except ImportError:
        raise DeviceError(
            "imputation on a GPU needs cupy, which is not installed: pip install 'gpukit[cuda]', or use --device cpu."
        ) from None
    return cupy
