"""Thresholding of slices along a path of thresholds, of low-rank ones in a subspace reused between calls.

The slices change slowly. X (m, n) of nearly rank r < k: P = orth(X Q), W = X' P, Q <- orth(W); then X ~ P (W' Q) Q',
and the k x k matrix W' Q is thresholded exactly. Each call makes one step of block power iteration of the basis Q (n,
k), which suffices for slices that change slowly. Slices that need more than k vectors are thresholded whole.

All steps are products of many small matrices, cuBLAS's or numpy's, and the kernel `whiten`. Cost of a slice:
6 m n k operations, 10 (m + n) k^2 for the orthogonal bases, and the exact thresholding of k x k numbers.
Source: Halko, Martinsson, Tropp, SIAM Review 53 (2011), 217-288 (the subspace); Fukaya, Kannan, Nakatsukasa, Yamamoto,
Yanagisawa, SIAM J. Sci. Comput. 42 (2020), A477-A503 (shifted CholeskyQR, three rounds).
"""

import numpy as np

from gpukit.errors import ParameterError
from gpukit.svt import products
from gpukit.svt.plan import (
    LARGE_ON_GPU,
    SHARED,
    SMALL,
    WORKSPACE,
    Resident,
    sides,
    widest_subspace,
    workspace_of,
)
from gpukit.svt.products import make_tools, parts_of, transpose

STEP = 8  # k is a multiple of it


def choose_k(rank, p):
    """Return the columns for slices of a rank.

    p: shorter side. 0 above p / 2: threshold whole slices. Near p the subspace costs the same as exact thresholding.
    A rank near k / 2 leaves a margin for slices to differ.
    """
    k = -(-max(STEP, 2 * int(rank) + 4) // STEP) * STEP
    return k if 2 * k <= p else 0


class SubspaceThresholding:
    """Repeated in-place thresholding of the same arrays: run() reads X, lam and cap.

    X (N, m, n) float32 or float64, C-contiguous; lam (N,) of its type; cap (N,) int32 or None: the largest number of
    singular vectors to keep. Numpy arrays, or numba's or cupy's with device_is_gpu. Only k < min(m, n) is checked.
    seed: of the first basis and of renewed columns. workspace: of a run on a GPU, see gpu.Thresholding.

    After run(): ranks (N,) int32 on the host; values (N, k) on the host, the leading singular values;
    overflowed, the number of slices that needed more than k vectors and were thresholded whole, exactly.
    float32 numbers must be between 1e-15 and 1e15, because their squares are summed.

    arrays: where X and the basis are, a plan.Resident or gpu.Travelling.
    Memory: the basis, (N, n, k), and SCRATCH bytes of the tools, or the buffers of one slice if larger.
    Raises DeviceError without cupy, ParameterError for a k that is too large.
    """

    def __init__(self, X, lam, cap, k, device_is_gpu=False, seed=0, workspace=None, arrays=None):
        self.tools = make_tools(device_is_gpu, workspace)
        self.xp = self.tools.library
        self.arrays = arrays or Resident(self.xp)
        self.X, self.lam = self.xp.asarray(X) if arrays is None else X, self.xp.asarray(lam)
        self.cap = self.xp.full(len(X), min(X.shape[1:]), np.int32) if cap is None else self.xp.asarray(cap)
        self.seed, self.values = seed, None
        self.calls, self.spare = 0, (None, None)
        self.ranks, self.overflowed = np.zeros(len(X), np.int32), 0
        self.basis = self.arrays.empty((len(X), X.shape[2], 0), X.dtype)
        self.grow(k)

    @property
    def k(self):
        """Columns of the basis."""
        return self.basis.shape[2]

    def grow(self, k):
        """Widen the basis to k columns by random ones.

        They are the same for all slices.
        """
        if not self.k <= k < min(self.X.shape[1:]):
            raise ParameterError(
                f"k must be at least {self.k} and less than {min(self.X.shape[1:])}; it is {k}. Use gpukit.svt's exact "
                "thresholding for slices of larger rank."
            )
        self.buffers = self.grams = self.factors = self.cores = self.exact = None  # release memory first
        wider, old = self.arrays.empty((*self.basis.shape[:2], k), self.X.dtype), self.k
        wider[:, :, :old] = self.basis
        wider[:, :, old:] = self.arrays.place(self.random(k - old, k))
        self.basis, self.cold = wider, 2  # additional steps of power iteration
        if old:
            self.tools.trim()
        self.zero_columns = self.xp.empty((len(self.X), k), np.bool_)
        self.zero_columns[...] = False
        self.prepare(k)

    def random(self, columns, *key):
        """Return random numbers (n, columns) that depend on the key alone."""
        rng = np.random.default_rng([self.seed, *key])
        return rng.standard_normal((self.X.shape[2], columns)).astype(self.X.dtype)

    def prepare(self, k):
        """Allocate the buffers of a batch; prepare its k x k thresholding."""
        N, m, n = self.X.shape
        size = (3 * max(m, n) * k + 3 * k * k + m * n) * self.X.itemsize
        batch = max(1, min(N, self.arrays.slices or N, self.tools.SCRATCH // size))
        self.parts = parts_of(N, batch)
        self.buffers = [self.xp.empty(batch * max(m, n) * k, self.X.dtype) for _ in range(3)]
        self.grams, self.factors, self.cores = (self.xp.empty((batch, k, k), self.X.dtype) for _ in range(3))
        self.exact = [
            self.tools.thresholding(self.core(part), self.lam[part], self.cap[part], True) for part in self.parts
        ]

    def core(self, part):
        """Return the k x k matrices of a part's slices."""
        return self.cores[: part.stop - part.start]

    def buffer(self, number, rows, part):
        """Return buffer 0, 1 or 2 as matrices (rows, k).

        There is one per slice of a part.
        """
        shape = part.stop - part.start, rows, self.k
        return self.buffers[number][: shape[0] * rows * self.k].reshape(shape)

    def run(self, rounds=1):
        """Threshold X.

        rounds: steps of power iteration; a basis with new columns takes two more.
        """
        self.values = np.empty((len(self.X), self.k), self.X.dtype)
        rounds, self.cold, self.overflowed, self.calls = rounds + self.cold, 0, 0, self.calls + 1
        for (part, X, Q, *_), exact in zip(self.blocks((self.X, self.basis)), self.exact):
            P = self.project(part, X, Q, rounds)
            self.keep(part, *exact()())
            self.finish(part, X, P, Q)

    def blocks(self, written):
        """Return the blocks of X and the basis; written: arrays that change."""
        return self.arrays.each(self.parts, (self.X, self.basis), written)

    def leading(self, count, rounds=3):
        """Return leading singular values (N, count) of X on the host, descending; X is unchanged.

        rounds: steps of power iteration. Values are never too large except for rounding. The last ones are accurate
        only if k is well above count.
        """
        rounds, self.cold, self.calls, values = rounds + self.cold, 0, self.calls + 1, []
        nothing = self.xp.asarray(np.zeros(len(self.cores), self.X.dtype))
        none = self.xp.full(len(self.cores), 0, np.int32)
        for part, X, Q, *_ in self.blocks((self.basis,)):
            self.project(part, X, Q, rounds)
            core = self.core(part)
            exact = self.tools.thresholding(core, nothing[: len(core)], none[: len(core)], True)
            values.append(exact()()[0][:, :count])
        return np.concatenate(values)

    def project(self, part, X, Q, rounds):
        """Run steps of power iteration of a part's slices X and basis Q; return P; the core becomes W' Q."""
        m, n = self.X.shape[1:]
        A, P, W, spare = (self.buffer(*place, part) for place in ((0, m), (1, m), (0, n), (2, n)))
        for number in range(rounds):
            self.renew(Q, self.zero_columns[part], (self.k, self.calls, number))
            self.tools.product(X, Q, A)
            self.orth(A, P, A)
            self.tools.product(transpose(X), P, W)
            self.zero_columns[part] = self.orth(W, Q, spare).diagonal(axis1=1, axis2=2) == 0
        self.tools.product(transpose(W), Q, self.core(part))
        return P

    def orth(self, A, near, far):
        """Set near to orthonormal columns, or zeros, that span A's; return the last factor.

        far is overwritten; it may be A.
        """
        gram, factor = self.grams[: len(A)], self.factors[: len(A)]
        shift = 4 * self.k * float(np.finfo(A.dtype).eps)  # of the first round
        for out in (near, far, near):
            self.tools.product(transpose(A), A, gram)
            self.tools.whiten(gram, A.dtype.type(shift), factor)
            self.tools.product(A, factor, out)
            A, shift = out, 0.0
        return factor

    def renew(self, Q, zero_columns, key):
        """Replace zero columns of Q by random ones of a key.

        The subspace can then grow again.
        """
        indices = self.xp.flatnonzero(zero_columns.any(axis=1))
        if len(indices):
            if self.spare[0] != key:
                self.spare = key, self.xp.asarray(self.random(self.k, *key))
            Q[indices] += zero_columns[indices][:, None, :] * self.spare[1]

    def keep(self, slices, values, ranks):
        """Store the values and ranks of some slices."""
        self.ranks[slices], self.values[slices] = ranks, values[:, : self.k]

    def finish(self, part, X, P, Q):
        """Set a part's slices X = P core Q'; threshold overflowing slices whole."""
        product = self.buffer(0, self.X.shape[1], part)
        indices = self.overflowing(part)
        whole = X[indices] if len(indices) else X[:0]
        if len(indices) < len(X):
            self.tools.product(P, self.core(part), product)
            self.tools.product(product, transpose(Q), X)
        if len(indices):
            results = self.tools.threshold(whole, self.lam[part][indices], self.cap[part][indices], True)
            X[indices] = whole
            self.keep(part.start + self.tools.host(indices), *results)
        self.overflowed += len(indices)

    def overflowing(self, part):
        """Return indices of a part's slices that need more than k vectors."""
        indices = np.flatnonzero(self.ranks[part] == self.k)
        if len(indices):
            indices = indices[self.tools.host(self.cap[part])[indices] > self.k]
        return self.xp.asarray(indices)


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


def work_of(shape, dtype):
    """Return bytes of slices (N, m, n) in a WarmThresholding on a GPU, at most.

    (of a slice's basis, of the work on a slice, of the work on all of them).
    """
    (p, q), size = sides(shape), np.dtype(dtype).itemsize
    whole, k = workspace_of(p, q, dtype), p // 2
    if not pays(shape, True):
        return 0, whole, WORKSPACE
    core = 3 * (q + k) * k * size + workspace_of(k, k, dtype)
    overflow = 2 * (p * q * size + whole)  # for a power of two of slices
    return q * k * size, core + overflow + products.workspace_of(shape, size), 4 * WORKSPACE


class WarmThresholding:
    """Repeated in-place thresholding of X (N, m, n), of large slices in a subspace.

    X is on the host or, with on_gpu, a cupy array, or where `arrays` (a gpu.Travelling) has it. run(lam, cap) takes
    host arrays, lam (N,), cap (N,) int32 or None. The width of the subspace follows the ranks expected from the last
    call's singular values. workspace: of a run on a GPU, see gpu.Thresholding.
    """

    def __init__(self, X, on_gpu=False, workspace=None, arrays=None):
        self.X, self.on_gpu, self.workspace = X, on_gpu, workspace
        self.p, self.values, self.fetches = sides(X.shape)[0], None, None
        self.subspace, self.exact, self.multiplied = None, None, None
        self.tools = make_tools(on_gpu, workspace)
        self.xp = self.tools.library
        self.arrays = arrays or Resident(self.xp)
        self.parts = parts_of(len(X), self.arrays.slices)
        self.is_warm = pays(X.shape, on_gpu)
        self.shared_bytes = self.tools.exact.shared_memory() if on_gpu else SHARED
        self.lam, self.cap = self.xp.zeros(len(X), X.dtype), self.xp.full(len(X), self.p, np.int32)
        self.capped = None

    def run(self, lam, cap=None, expected=None):
        """Threshold X; a GPU may still compute when this returns.

        expected: `expected_ranks` of all slices if X holds only a part of them.
        """
        self.tools.put(self.lam, lam)
        if cap is not self.capped:
            self.tools.put(self.cap, np.full(len(self.X), self.p) if cap is None else cap)
            self.capped = cap
        k, fitting = 0, 0.98  # share of slices whose expected rank must fit; the others are thresholded whole
        if self.is_warm:
            expected = self.expected_ranks(lam, cap) if expected is None else expected
            k = self.columns(int(np.quantile(expected, fitting)))
        if not k:
            self.threshold_whole()
            return
        self.widen(k)
        self.subspace.run()
        self.values, self.fetches = self.subspace.values, [lambda: (None, self.subspace.ranks)]

    @property
    def ranks(self):
        """Ranks (N,) int32 of the last run, on the host."""
        return np.concatenate([fetch()[1] for fetch in self.fetches])

    def columns(self, rank):
        """Return the width of the subspace for a rank."""
        return choose_columns(rank, self.p, self.on_gpu, self.X.itemsize, self.shared_bytes)

    def leading(self, count=1):
        """Return (N, count) approximate leading singular values of X, never too large; X is unchanged."""
        self.widen(self.columns(count))
        return self.subspace.leading(count)

    def all_values(self):
        """Return all singular values (N, min(m, n)) of X, exactly; X may be overwritten."""
        return np.concatenate([self.tools.values(X) for _, X in self.arrays.each(self.parts, (self.X,))])

    def expected_ranks(self, lam, cap=None):
        """Return the expected rank (N,) of each slice."""
        ahead = 0.7  # values above this share of the next threshold count
        if cap is not None:
            return cap
        if self.values is None:
            return np.zeros(len(self.X)) if self.fetches is None else 1.25 * self.ranks + 1
        least = 1.0 if self.subspace.k >= widest_subspace(self.X.itemsize, self.shared_bytes) else ahead
        return (self.values > least * lam[:, None]).sum(axis=1)

    def widen(self, k):
        """Widen the subspace to at least k columns."""
        if self.subspace is None:
            place = {"workspace": self.workspace, "arrays": self.arrays}
            self.subspace = SubspaceThresholding(self.X, self.lam, self.cap, k, self.on_gpu, **place)
        elif k > self.subspace.k:
            self.subspace.grow(k)

    def threshold_whole(self):
        """Threshold whole slices exactly."""
        self.values = None
        if self.on_gpu and self.capped is None and products.pays(self.X.shape):
            if self.multiplied is None:
                place = self.workspace, self.arrays
                self.multiplied = products.ProductThresholding(self.X, self.lam, self.X, True, *place)
            ranks = self.multiplied.run()
            self.fetches = [lambda: (None, ranks)]
            return
        self.exact = self.exact or [
            self.tools.thresholding(*self.arrays.views(number, part, self.X), self.lam[part], self.cap[part], False)
            for number, part in enumerate(self.parts)
        ]
        self.fetches = [start() for _, start in zip(self.arrays.each(self.parts, (self.X,), (self.X,)), self.exact)]
