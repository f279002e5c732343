"""Thresholding along a path of thresholds: in a subspace while ranks are low, else exactly."""

import numpy as np

from gpukit.svt import products
from gpukit.svt.plan import AHEAD, FITTING, LARGE_ON_GPU, SHARED, SMALL, sides, widest_subspace
from gpukit.svt.subspace import STEP, SubspaceThresholding, choose_k


def pays(shape, on_gpu):
    """Return True if the subspace is faster than the exact kernels.

    shape: (N, m, n) of the slices.
    """
    return sides(shape)[0] > (LARGE_ON_GPU if on_gpu else SMALL)


def choose_columns(rank, p, on_gpu, itemsize=4, shared_bytes=SHARED):
    """Return the width of the subspace for a rank; 0: threshold whole slices.

    On a GPU slices are large, so fewer spare columns suffice. shared_bytes: of a block on the GPU.
    """
    if not on_gpu:
        return choose_k(rank, p)
    widest = min(p // 2, widest_subspace(itemsize, shared_bytes)) // STEP * STEP
    k = -(-(rank + rank // 4 + 8) // STEP) * STEP
    return min(k, widest) if rank < widest else 0


class WarmThresholding:
    """Repeated in-place thresholding of X (N, m, n).

    X is on the host or, with on_gpu, a cupy array. run(lam, cap) takes host arrays, lam (N,), cap (N,) int32 or None,
    and returns ranks (N,) int32 on the host. The width of the subspace follows the ranks expected from the last call's
    singular values. seed: of the first subspace. workspace: of a run on a GPU, see gpu.Thresholding.
    """

    def __init__(self, X, on_gpu=False, seed=0, workspace=None):
        self.X, self.on_gpu, self.seed, self.workspace = X, on_gpu, seed, workspace
        self.p, self.values, self.ranks = sides(X.shape)[0], None, None
        self.subspace, self.exact, self.multiplied = None, None, None
        self.shared_bytes = _shared_memory() if on_gpu else SHARED
        library = _cupy() if on_gpu else np
        self.lam, self.cap = library.zeros(len(X), X.dtype), library.zeros(len(X), np.int32)

    def run(self, lam, cap=None, expected=None):
        """Threshold X and return the ranks.

        expected: `expected_ranks` of all slices if X holds only a part of them.
        """
        expected = self.expected_ranks(lam, cap) if expected is None else expected
        k = choose_columns(int(np.quantile(expected, FITTING)), self.p, self.on_gpu, self.X.itemsize, self.shared_bytes)
        self.lam[:] = self._to_device(lam, self.X.dtype)
        self.cap[:] = self._to_device(np.full(len(self.X), self.p) if cap is None else cap, np.int32)
        if not k:
            return self.threshold_whole(cap is not None)
        self.widen(k)
        self.subspace.run()
        self.values, self.ranks = self.subspace.values, self.subspace.ranks
        return self.ranks

    def leading(self, count=1):
        """Return (N, count) approximate leading singular values of X, never too large; X is unchanged."""
        self.widen(choose_columns(count, self.p, self.on_gpu, self.X.itemsize, self.shared_bytes))
        return self.subspace.leading(count)

    def expected_ranks(self, lam, cap=None):
        """Return the expected rank (N,) of each slice."""
        if cap is not None:
            return cap
        if self.values is None:
            return np.zeros(len(self.X)) if self.ranks is None else 1.25 * self.ranks + 1
        least = 1.0 if self.subspace.k >= widest_subspace(self.X.itemsize, self.shared_bytes) else AHEAD
        return (self.values > least * lam[:, None]).sum(axis=1)

    def widen(self, k):
        """Widen the subspace to at least k columns."""
        if self.subspace is None:
            self.subspace = SubspaceThresholding(
                self.X, self.lam, self.cap, k, self.on_gpu, self.seed, whole=True, workspace=self.workspace
            )
        elif k > self.subspace.k:
            self.subspace.grow(k)

    def threshold_whole(self, capped):
        """Threshold whole slices exactly and return the ranks."""
        if not self.on_gpu:
            from gpukit.svt import cpu

            self.ranks = cpu.threshold(self.X, self.lam, self.X, False, self.cap)[1]
        elif not capped and products.pays(self.X.shape):
            if self.multiplied is None:
                self.multiplied = products.ProductThresholding(self.X, self.lam, self.X, True, self.workspace)
            self.ranks = self.multiplied.run().copy()
        else:
            if self.exact is None:
                self.exact = _exact_on_gpu(self.X, self.lam, self.cap, self.workspace)
            self.exact.run()
            self.ranks = self.exact.fetch_ranks()
        self.values = None
        return self.ranks

    def _to_device(self, array, dtype):
        array = np.ascontiguousarray(array, dtype)
        return _cupy().asarray(array) if self.on_gpu else array


def _shared_memory():
    from gpukit.svt.gpu import shared_memory

    return shared_memory()


def _cupy():
    import cupy

    return cupy


def _exact_on_gpu(X, lam, cap, workspace):
    """Return an in-place gpu.Thresholding of cupy arrays."""
    from gpukit._cuda import cuda
    from gpukit.svt.gpu import Thresholding

    X, lam, cap = (cuda.as_cuda_array(array, sync=False) for array in (X, lam, cap))
    return Thresholding(X, lam, X, cap=cap, workspace=workspace)
