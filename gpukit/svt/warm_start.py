"""Thresholding of slices along a path of thresholds: in a subspace while their ranks are low, else whole."""

import numpy as np

from gpukit.svt import products
from gpukit.svt.plan import SHARED, sides, widest_subspace
from gpukit.svt.subspace import STEP, SubspaceThresholding, choose_k

SMALL = 24  # shorter sides up to which whole slices are thresholded on the CPU
SMALL_ON_GPU = 128  # and on a GPU, whose exact kernels are faster there
AHEAD = 0.7  # a value above this share of the next threshold counts for the rank that is expected
MOST = 0.98  # of the slices must have no more than the rank expected; the others are thresholded whole


def pays(shape, on_gpu):
    """Whether slices (N, m, n) are so large that the subspace is faster than the exact kernels."""
    return sides(shape)[0] > (SMALL_ON_GPU if on_gpu else SMALL)


def columns_for(rank, p, on_gpu, itemsize=4, room=SHARED):
    """Columns of the subspace for a rank; 0: whole slices. On a GPU slices are large, so fewer to spare will do.

    room: bytes of shared memory a block of the GPU may have.
    """
    if not on_gpu:
        return choose_k(rank, p)
    widest = min(p // 2, widest_subspace(itemsize, room)) // STEP * STEP
    k = -(-(rank + rank // 4 + 8) // STEP) * STEP
    return min(k, widest) if rank < widest else 0


class WarmThresholding:
    """X (N, m, n), on the host or with on_gpu a cupy array, thresholded in place, call after call.

    run(lam, cap) takes host arrays, lam (N,), cap (N,) int32 or None, and returns ranks (N,) int32 on the host. The
    subspace's width follows the ranks that the last call's singular values let expect. seed: of the first subspace.
    workspace: of a run on a GPU, see gpu.Thresholding.
    """

    def __init__(self, X, on_gpu=False, seed=0, workspace=None):
        self.X, self.on_gpu, self.seed, self.workspace = X, on_gpu, seed, workspace
        self.p, self.values, self.ranks = sides(X.shape)[0], None, None
        self.subspace, self.exact, self.multiplied = None, None, None
        self.room = _room_on_gpu() if on_gpu else SHARED
        library = _cupy() if on_gpu else np
        self.lam, self.cap = library.zeros(len(X), X.dtype), library.zeros(len(X), np.int32)

    def run(self, lam, cap=None, wanted=None):
        """Threshold: ranks. wanted: `wants` of all slices, where these are but some of them."""
        wanted = self.wants(lam, cap) if wanted is None else wanted
        k = columns_for(int(np.quantile(wanted, MOST)), self.p, self.on_gpu, self.X.itemsize, self.room)
        self.lam[:] = self._placed(lam, self.X.dtype)
        self.cap[:] = self._placed(np.full(len(self.X), self.p) if cap is None else cap, np.int32)
        if not k:
            return self.run_whole(cap is not None)
        self.widen(k)
        self.subspace.run()
        self.values, self.ranks = self.subspace.values, self.subspace.ranks
        return self.ranks

    def leading(self, count=1):
        """(N, count): about the leading singular values of X, from below; X stays."""
        self.widen(columns_for(count, self.p, self.on_gpu, self.X.itemsize, self.room))
        return self.subspace.leading(count)

    def wants(self, lam, cap=None):
        """(N,) the rank that is expected of each slice."""
        if cap is not None:
            return cap
        if self.values is None:
            return np.zeros(len(self.X)) if self.ranks is None else 1.25 * self.ranks + 1
        least = 1.0 if self.subspace.k >= widest_subspace(self.X.itemsize, self.room) else AHEAD
        return (self.values > least * lam[:, None]).sum(axis=1)

    def widen(self, k):
        """At least k columns."""
        if self.subspace is None:
            self.subspace = SubspaceThresholding(
                self.X, self.lam, self.cap, k, self.on_gpu, self.seed, whole=True, workspace=self.workspace
            )
        elif k > self.subspace.k:
            self.subspace.grow(k)

    def run_whole(self, capped):
        """Threshold whole slices, exactly: ranks."""
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
            self.ranks = self.exact.ranks_found()
        self.values = None
        return self.ranks

    def _placed(self, array, dtype):
        array = np.ascontiguousarray(array, dtype)
        return _cupy().asarray(array) if self.on_gpu else array


def _room_on_gpu():
    from gpukit.svt.gpu import shared_memory

    return shared_memory()


def _cupy():
    import cupy

    return cupy


def _exact_on_gpu(X, lam, cap, workspace):
    """A gpu.Thresholding of cupy arrays, in place."""
    from gpukit._cuda import cuda
    from gpukit.svt.gpu import Thresholding

    X, lam, cap = (cuda.as_cuda_array(array, sync=False) for array in (X, lam, cap))
    return Thresholding(X, lam, X, cap=cap, workspace=workspace)
