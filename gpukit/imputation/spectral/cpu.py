"""TensorCompletion of a graph tensor on the CPU; gpu.py has the class for a GPU, which inherits from it.

The estimate is stored at missing entries only. Observed values never change, so their transform C = U' P_Omega(G) is
computed once. An iteration transforms the incomplete vertices: Z = C + U_mis' x.
"""

import itertools

import numpy as np

from gpukit.imputation.spectral import twins
from gpukit.svt.plan import Resident
from gpukit.svt.products import parts_of
from gpukit.svt.subspace import WarmThresholding
from gpukit.timing import work_clock

COLUMNS = 4096  # of the estimate per inverse transform
BLOCKS = 64  # of the sums, so that results do not depend on the number of threads


class TensorCompletion:
    """Computation of one tensor on one basis.

    rounding: negligible relative error; seconds: {part of a step: seconds}.

    basis: basis.Basis. observed (N, m, n): centred, 0 where missing. mask: (N,) or (N, m, n) bool, True = observed.
    dtype: float32 or float64. workspace: of the run, for GPU buffers; unused here. Memory: C and Z, a copy of the
    tensor each, and the estimate and its last step, two copies of the incomplete vertices.

    xp: the device's array library, numpy or cupy.
    """

    xp, on_gpu, n_sums = np, False, BLOCKS

    def __init__(self, basis, observed, mask, dtype, workspace=None):
        self.workspace, self.mask, self.observed, self.shape = workspace, mask, observed, observed.shape[1:]
        self.rows = lacking(mask)
        hidden, vectors = hidden_entries(mask, self.rows), self.vectors_of(basis, dtype)
        sizes = *vectors.shape, len(self.rows)
        self.arrays = self.place_arrays(sizes, self.shape, dtype, hidden is not None)
        self.hidden = None if hidden is None else self.arrays.place(hidden)
        self.C = self.transform_tensor(vectors)
        self.U = vectors if len(self.rows) == len(vectors) else vectors[self.xp.asarray(self.rows)]
        self.allocate_buffers(self.C.shape[1])

    @staticmethod
    def place_arrays(sizes, shape, dtype, has_mask):
        """Return where large arrays are; see gpu.place_arrays."""
        return Resident(np)

    def vectors_of(self, basis, dtype):
        """Return a basis's vectors (N, K) as dtype on the device."""
        return np.asarray(basis.vectors, dtype)

    @staticmethod
    def copy_to_device(observed, target):
        """Copy observed values, flat, to the device."""
        target[...] = observed

    def transform_tensor(self, vectors):
        """Return C = U' P_Omega(G); vectors on the device."""
        flat, xp = self.observed.reshape(len(self.observed), -1), self.xp
        C = self.arrays.empty((vectors.shape[1], flat.shape[1]), vectors.dtype)
        for part, target in self.arrays.each(column_parts(flat.shape[1], self.arrays), (), (C,)):
            block = flat[part]
            if isinstance(block, xp.ndarray):
                block = block.astype(C.dtype, copy=False)
            else:
                block = xp.empty(block.shape, C.dtype)
                self.copy_to_device(flat[part], block)
            xp.matmul(vectors.T, block, out=target)
        return C

    def allocate_buffers(self, columns):
        """Allocate the buffers of steps for an estimate of a number of columns, which is zero."""
        arrays, dtype, shape = self.arrays, self.C.dtype, (len(self.U), columns)
        self.now, self.before = arrays.zeros(shape, dtype), arrays.zeros(shape, dtype)
        self.rounding = 10.0 * float(np.finfo(dtype).eps)
        self.Z = arrays.empty(self.C.shape, dtype)
        self.parts = column_parts(columns, arrays)
        self.sums, self.all_hidden = self.xp.zeros((self.n_sums, 2)), self.xp.ones((1, 1), bool)
        self.new = self.xp.empty(len(self.U) * self.width(), dtype)
        self.seconds = {"transform": 0.0, "thresholding": 0.0}
        place = {"workspace": self.workspace, "arrays": arrays}
        self.thresholds = WarmThresholding(self.slices(self.Z), self.on_gpu, **place)

    def width(self):
        """Return the columns of the estimate per inverse transform."""
        return max(1, min(COLUMNS, self.now.shape[1]))

    def largest(self):
        """Return (K,) float64: the largest singular value of each slice of the zero-filled tensor."""
        self.Z[...] = self.C
        values = self.thresholds.leading() if self.thresholds.is_warm else self.thresholds.all_values()
        return values[:, 0].astype(np.float64)

    def spectrum(self, count):
        """Return (K, count) float64: leading singular values of the slices, the estimate filled in.

        The next step has no momentum.
        """
        self.transform(0.0)
        return self.thresholds.all_values()[:, :count].astype(np.float64)

    def step(self, lam, cap=None, momentum=0.0):
        """Run one iteration and return (change, size, ranks).

        change, size: ||new - old||^2 and ||new||^2 over the missing entries; ranks (K,) int32. lam (K,) thresholds.
        cap: (K,) int, the largest number of singular vectors of a slice; None: all. momentum: the step starts from the
        estimate + momentum times its last change.
        Source: Algorithm 1 of the graph-tensor imputation paper, lines 7-10.
        """
        marks = [self.mark()]
        self.transform(momentum)
        marks.append(self.mark())
        self.thresholds.run(lam, cap, self.expected())
        marks.append(self.mark())
        change, size = self.transform_back()
        marks.append(self.mark())
        target, thresholding, inverse = (self.between(*pair) for pair in itertools.pairwise(marks))
        self.seconds["transform"] += target + inverse
        self.seconds["thresholding"] += thresholding
        return change, size, self.thresholds.ranks

    def mark(self):
        """Return the current time, or an event on a GPU."""
        return work_clock()

    def between(self, start, end):
        """Return the seconds between two marks."""
        return float(end - start)

    def expected(self):
        """Return the expected ranks of all slices if this has only a part of them; None: it has all."""

    def extrapolate(self, now, before, momentum):
        """Compute before = now + momentum (now - before)."""
        twins.extrapolate(now.ravel(), before.ravel(), now.dtype.type(momentum))

    def transform(self, momentum):
        """Compute Z = C + U_mis' y of the estimate y with momentum, which replaces the one before."""
        for _, now, before, C, Z in self.arrays.each(self.parts, (self.now, self.before, self.C), (self.Z,)):
            self.extrapolate(now, before, momentum)
            self.xp.matmul(self.U.T, before, out=Z)
            Z += C

    def transform_back(self):
        """Update the estimate by U_mis Z; return (change, size).

        Only missing entries change; `before` becomes the old estimate.
        """
        totals, width, estimates = np.zeros(2), self.width(), (self.now, self.before)
        reads = (self.Z, self.now) if self.hidden is None else (self.Z, self.hidden, self.now)
        for _, Z, *hidden, _, now, before in self.arrays.each(self.parts, reads, estimates):
            tables = *(hidden or [self.all_hidden]), now, before
            for first in range(0, Z.shape[1], width):
                part = Z[:, first : first + width]
                new = self.new[: len(self.U) * part.shape[1]].reshape(len(self.U), -1)
                self.xp.matmul(self.U, part, out=new)
                totals += self.keep(new, first, tables)
        return tuple(totals.tolist())

    def keep(self, new, first, tables):
        """Update columns of the estimate, from column first on, at missing entries: (change, size).

        tables: the missing entries, the estimate and the one before.
        """
        hidden, now, before = tables
        twins.renew(new, hidden, first, now, before, self.sums)
        return self.sums.sum(axis=0)

    def slices(self, flat):
        """Return a (K, m, n) view of (K, m n)."""
        return flat.reshape(-1, *self.shape)

    def missing(self):
        """Return the estimate of missing entries.

        Shape (vertices, m, n) for a mask (N,), (entries,) for a mask (N, m, n).
        """
        if self.mask.ndim == 1:
            result = self.slices(self.now)
        else:
            result = self.now.ravel() if self.hidden is None else self.now[self.hidden]
        return self.given_back(result)

    def given_back(self, result):
        """Return a copy on the host."""
        return result.copy()


def column_parts(columns, arrays):
    """Return the blocks of columns of `arrays`, as indices of matrices."""
    return [np.s_[:, part] for part in parts_of(columns, arrays.columns)]


def lacking(mask):
    """Return indices of the incomplete vertices."""
    return np.flatnonzero(~(mask if mask.ndim == 1 else mask.reshape(len(mask), -1).all(axis=1)))


def hidden_entries(mask, rows, columns=slice(None)):
    """Return (rows, columns) bool: the missing entries of vertices; None if all are missing."""
    if mask.ndim == 1:
        return None
    hidden = ~mask.reshape(len(mask), -1)[rows, columns]
    return None if hidden.all() else hidden
