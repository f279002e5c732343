"""TensorCompletion of a graph tensor on the CPU; gpu.py has the class for a GPU, which inherits from it.

The estimate is stored at missing entries only. Observed values never change, so their transform C = U' P_Omega(G) is
computed once. An iteration transforms the incomplete vertices: Z = C + U_mis' x.
"""

import itertools
import math
from typing import NamedTuple

import numpy as np

from gpukit.base.arrays import place_like
from gpukit.imputation.spectral import twins
from gpukit.svt import cpu as svt
from gpukit.svt.subspace import WarmThresholding, pays
from gpukit.timing import work_clock

TOGETHER = 256  # slices of a thresholding batch
COLUMNS = 4096  # of the estimate per inverse transform
BLOCKS = 64  # of the sums, so that results do not depend on the number of threads
LARGE = 2.0**40  # numbers from its inverse up to it need no scaling


class Known(NamedTuple):
    """Data common to all completions of one tensor.

    unit: scale of its numbers; C (K, m n): transform of observed values, on the device; largest (K,) float64 on the
    host, or None.
    """

    unit: float
    C: object
    largest: object


class TensorCompletion:
    """Computation of one tensor on one basis.

    rounding: negligible relative error; seconds: {part of a step: seconds}.

    basis: basis.Basis. observed (N, m, n): centred, 0 where missing. mask: (N,) or (N, m, n) bool, True = observed.
    dtype: float32 or float64. workspace: of the run, for GPU buffers; unused here. known: Known of an earlier
    completion with the same arguments, or None. Memory: C and Z, a copy of the tensor each, and the estimate and its
    last step, two copies of the incomplete vertices.

    xp: the device's array library, numpy or cupy.
    """

    xp = np

    def __init__(self, basis, observed, mask, dtype, workspace=None, known=None):
        self.mask, self.observed, self.shape = mask, observed, observed.shape[1:]
        self.rows = lacking(mask)
        self.hidden = hidden_entries(mask, self.rows)
        self.unit, self.C, self.leading = known or transform_tensor(basis, observed, dtype)
        self.U = np.ascontiguousarray(basis.vectors[self.rows], dtype)
        now = np.zeros((len(self.rows), self.C.shape[1]), dtype)
        self.allocate_buffers(now, np.zeros_like(now))

    def allocate_buffers(self, now, before):
        """Allocate the buffers of steps for an estimate.

        now, before: the estimate and the one before, with any number of columns.
        """
        self.now, self.before = now, before
        self.rounding = 10.0 * float(np.finfo(now.dtype).eps)
        self.Z = np.empty_like(self.C)
        self.sums = np.zeros((BLOCKS, 2))
        self.seconds = {"transform": 0.0, "thresholding": 0.0}
        self.warm = WarmThresholding(self.slices(self.Z)) if pays(self.slices(self.Z).shape, False) else None

    def largest(self):
        """Return (K,) float64: the largest singular value of each slice of the zero-filled tensor."""
        if self.leading is None:
            self.leading = self._values(self.C)[:, 0]
        return self.leading

    def known(self):
        """Return Known for the next completion of the same tensor."""
        return Known(self.unit, self.C, self.leading)

    def spectrum(self, count):
        """Return (K, count) float64: leading singular values of the slices, the estimate filled in."""
        self.transform(self.now)
        return self._values(self.Z)[:, :count]

    def _values(self, flat):
        """Return (K, min(m, n)) float64: the singular values of the slices of (K, m n)."""
        return singular_values(self.slices(flat)).astype(np.float64) / self.unit

    def step(self, lam, cap=None, momentum=0.0):
        """Run one iteration and return (change, size, ranks).

        change, size: ||new - old||^2 and ||new||^2 over the missing entries; ranks (K,) int32. lam (K,) thresholds.
        cap: (K,) int, the largest number of singular vectors of a slice; None: all. momentum: the step starts from the
        estimate + momentum times its last change.
        Source: Algorithm 1 of the graph-tensor imputation paper, lines 7-10.
        """
        marks = [self.mark()]
        self.extrapolate(self.Z.dtype.type(momentum))
        self.transform(self.before)
        marks.append(self.mark())
        ranks = self.thresholded(lam * self.unit, cap)
        marks.append(self.mark())
        change, size = self.transform_back()
        marks.append(self.mark())
        ranks = self.threshold.fetch_ranks() if ranks is None else ranks
        target, thresholding, inverse = (self.between(*pair) for pair in itertools.pairwise(marks))
        self.seconds["transform"] += target + inverse
        self.seconds["thresholding"] += thresholding
        return change, size, ranks

    def mark(self):
        """Return the current time, or an event on a GPU."""
        return work_clock()

    def between(self, start, end):
        """Return the seconds between two marks."""
        return float(end - start)

    def extrapolate(self, momentum):
        """Compute before = now + momentum (now - before)."""
        twins.extrapolate(self.now.ravel(), self.before.ravel(), momentum)

    def thresholded(self, lam, cap):
        """Threshold Z's slices and return the ranks; None on a GPU that still computes them."""
        if self.warm:
            return self.warm.run(lam, cap)
        return threshold_in_place(self.slices(self.Z), lam.astype(self.Z.dtype), cap)

    def transform(self, estimate):
        """Compute Z = C + U_mis' estimate."""
        self.xp.matmul(self.U.T, estimate, out=self.Z)
        self.Z += self.C

    def transform_back(self):
        """Update the estimate by U_mis Z; return (change, size).

        Only missing entries change; `before` becomes the old estimate.
        """
        totals = np.zeros(2)
        for first in range(0, self.now.shape[1], COLUMNS):
            totals += self.keep(self.U @ self.Z[:, first : first + COLUMNS], first)
        return float(totals[0]), float(totals[1])

    def keep(self, new, first):
        """Update columns of the estimate, from column first on, at missing entries: (change, size)."""
        hidden = np.ones((1, 1), bool) if self.hidden is None else self.hidden
        twins.renew(new, hidden, first, self.now, self.before, self.sums)
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
        return out_of_units(self.given_back(result), self.unit, self.observed.dtype)

    def given_back(self, result):
        """Return a copy where the observed tensor is: on the host, or on the GPU."""
        return result.copy()

    def completed(self):
        """Return (N, m, n) of the input's dtype: observed values bitwise, the estimate elsewhere."""
        out = self.observed.copy()
        out[place_like(~self.mask, out)] = self.missing()
        return out


def lacking(mask):
    """Return indices of the incomplete vertices."""
    return np.flatnonzero(~(mask if mask.ndim == 1 else mask.reshape(len(mask), -1).all(axis=1)))


def transform_tensor(basis, observed, dtype):
    """Return Known of a tensor (N, m, n), 0 where missing: its unit, and C = U' P_Omega(G) in it."""
    unit = unit_of(observed)
    flat = in_units(observed, unit).reshape(len(observed), -1).astype(dtype, copy=False)
    return Known(unit, np.ascontiguousarray(basis.vectors.T, dtype) @ flat, None)


def unit_of(observed):
    """Return the power of two that scales observed numbers: 1 except for very large and very small ones."""
    largest = float(max(observed.max(), -observed.min()))
    if largest == 0 or 1 / LARGE <= largest <= LARGE:
        return 1.0
    most = np.finfo(observed.dtype).maxexp - 2
    return 2.0 ** -max(-most, min(most, math.frexp(largest)[1]))


def in_units(observed, unit):
    """Return the observed numbers times their unit; the array itself for 1."""
    return observed if unit == 1 else observed * observed.dtype.type(unit)


def out_of_units(result, unit, dtype):
    """Return an estimate without its unit."""
    return result if unit == 1 else result.astype(dtype) / dtype.type(unit)


def hidden_entries(mask, rows, columns=slice(None)):
    """Return (rows, columns) bool: the missing entries of vertices; None if all are missing."""
    if mask.ndim == 1:
        return None
    hidden = ~mask.reshape(len(mask), -1)[rows, columns]
    return None if hidden.all() else hidden


def singular_values(X):
    """Return (K, min(m, n)) of (K, m, n), descending; X is unchanged."""
    if 1 in X.shape[1:]:
        return np.linalg.norm(X, axis=(1, 2))[:, None]
    values = np.empty((len(X), min(X.shape[1:])), X.dtype)
    for first in range(0, len(X), TOGETHER):
        part = X[first : first + TOGETHER]
        none = np.zeros(len(part), np.int32)
        values[first : first + TOGETHER] = svt.threshold(part, none.astype(X.dtype), np.empty_like(part), True, none)[0]
    return values


def threshold_in_place(X, lam, cap):
    """Threshold slices X (K, m, n) in place; return ranks (K,) int32.

    lam[k]: threshold of a slice; cap[k]: its maximum number of vectors.
    """
    if 1 in X.shape[1:]:
        return shrink(X, lam, cap)
    ranks = np.empty(len(X), np.int32)
    out = np.empty((min(len(X), TOGETHER), *X.shape[1:]), X.dtype)
    for first in range(0, len(X), TOGETHER):
        part = np.s_[first : first + TOGETHER]
        done = out[: len(X[part])]
        most = None if cap is None else cap[part].astype(np.int32)
        ranks[part] = svt.threshold(X[part], lam[part], done, cap=most)[1]
        X[part] = done
    return ranks


def shrink(X, lam, cap):
    """Run threshold_in_place for vectors, whose singular value is their length."""
    length = singular_values(X)[:, 0]
    is_kept = (length > lam) if cap is None else (length > lam) & (cap > 0)
    X *= np.where(is_kept, 1 - lam / np.where(is_kept, length, 1), 0)[:, None, None]
    return is_kept.astype(np.int32)
