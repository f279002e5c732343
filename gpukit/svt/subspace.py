"""Thresholding of slices that move slowly and have low rank: in a subspace kept from call to call.

X (m, n) of nearly rank r < k: P = orth(X Q), W = X' P, Q <- orth(W); then X ~ P (W' Q) Q', and what is thresholded
exactly is the k x k matrix W' Q. The basis Q (n, k) has made a step of block power iteration when the call ends, and
where the slices move slowly that one step is enough. Slices that want more than k vectors are thresholded whole.

Everything is products of many small matrices, cuBLAS's or numpy's, and the kernel `whiten`. Cost of a slice:
6 m n k operations, 10 (m + n) k^2 for the orthogonal bases, and the exact thresholding of k x k numbers.
Source: Halko, Martinsson, Tropp, SIAM Review 53 (2011), 217-288 (the subspace); Fukaya, Kannan, Nakatsukasa, Yamamoto,
Yanagisawa, SIAM J. Sci. Comput. 42 (2020), A477-A503 (shifted CholeskyQR, three rounds).
"""

import numpy as np

from gpukit.errors import ParameterError
from gpukit.svt.tools import make_tools, transposed

SHIFT = 4  # of the first round of orth: this, times the columns, times the rounding error
COLD = 2  # steps of power iteration more for a basis that is new
STEP = 8  # a k is a multiple of it
LEAST = 8


def choose_k(rank, p):
    """Columns for slices of a rank, p their shorter side; 0 beyond p / 2, where whole slices are thresholded.

    On a CPU core, 50 x 50 float32, a call takes 0.02, 0.05, 0.10, 0.19, 0.31 ms for k = 8, 16, 24, 32, 40, the exact
    thresholding 0.35 ms: near p they cost the same, and a rank near k / 2 leaves room for slices to differ.
    """
    k = -(-max(LEAST, 2 * int(rank) + 4) // STEP) * STEP
    return k if 2 * k <= p else 0


class SubspaceThresholding:
    """Thresholding of the same arrays, again and again: run() reads X, lam and cap as they are then, and X becomes the
    result.

    X (N, m, n) float32 or float64, C-contiguous; lam (N,) of its type; cap (N,) int32 or None: at most so many
    singular vectors are kept. Numpy arrays, or arrays on the GPU (numba's or cupy's) with device_is_gpu; nothing is
    checked but k < min(m, n). seed: of the first basis and of columns that are renewed. whole: run() also gives values.
    workspace: of a run on a GPU, see gpu.Thresholding.

    After run(): ranks (N,) int32 on the host; values (N, k) on the host with whole, the leading singular values; and
    overflowed, how many slices passed k vectors, not held back by cap: these were thresholded whole, exactly.
    float32 numbers must lie between 1e-15 and 1e15, their squares are summed.

    Memory: the basis, (N, n, k), and SCRATCH bytes of the tools, or what one slice needs.
    Raises DeviceError without cupy, ParameterError for a k that is too large.
    """

    def __init__(self, X, lam, cap, k, device_is_gpu=False, seed=0, whole=False, workspace=None):
        self.tools = make_tools(device_is_gpu, workspace)
        self.X, self.lam = self.tools.array(X), self.tools.array(lam)
        self.cap = self.tools.full(len(X), min(X.shape[1:])) if cap is None else self.tools.array(cap)
        self.seed, self.whole, self.values = seed, whole, None
        self.calls, self.spare = 0, (None, None)
        self.ranks, self.overflowed = np.zeros(len(X), np.int32), 0
        self.basis = self.tools.empty((len(X), X.shape[2], 0), X.dtype)
        self.grow(k)

    @property
    def k(self):
        """Columns of the basis."""
        return self.basis.shape[2]

    def grow(self, k):
        """Make the basis k columns wide: those it has, and random ones; the same for all slices."""
        if not self.k <= k < min(self.X.shape[1:]):
            raise ParameterError(
                f"k must be at least {self.k} and less than {min(self.X.shape[1:])}; it is {k}. Slices of a rank so "
                "large are what gpukit.svt's exact thresholding is for."
            )
        self.room = self.grams = self.factors = self.cores = self.exact = None  # before more is asked for
        wider, old = self.tools.empty((*self.basis.shape[:2], k), self.X.dtype), self.k
        wider[:, :, :old] = self.basis
        wider[:, :, old:] = self.random(k - old, k)
        self.basis, self.cold = wider, COLD
        if old:
            self.tools.trim()
        self.gone = self.tools.empty((len(self.X), k), np.bool_)
        self.gone[...] = False
        self.prepare(k)

    def random(self, columns, *key):
        """(n, columns) of random numbers, the same for a key: no slice's depend on which others there are."""
        rng = np.random.default_rng([self.seed, *key])
        return self.tools.array(rng.standard_normal((self.X.shape[2], columns)).astype(self.X.dtype))

    def state(self):
        """What another one of the same slices goes on from: an array each whose rows are slices', on the device."""
        return self.basis, self.gone

    def go_on(self, basis, gone, other):
        """Go on from the state of some slices of another one, of as many columns; other: its calls, and its cold."""
        self.basis[...], self.gone[...] = basis, gone
        self.calls, self.cold = other

    def prepare(self, k):
        """Room for a batch, and the thresholding of its cores, the k x k matrices."""
        N, m, n = self.X.shape
        size = (3 * max(m, n) * k + 3 * k * k + m * n) * self.X.itemsize
        batch = max(1, min(N, self.tools.SCRATCH // size))
        self.parts = [slice(first, min(first + batch, N)) for first in range(0, N, batch)]
        self.room = [self.tools.empty(batch * max(m, n) * k, self.X.dtype) for _ in range(3)]
        self.grams, self.factors, self.cores = (self.tools.empty((batch, k, k), self.X.dtype) for _ in range(3))
        self.exact = [
            self.tools.thresholding(self.core(part), self.lam[part], self.cap[part], self.whole) for part in self.parts
        ]

    def core(self, part):
        """The matrices k x k of a part's slices."""
        return self.cores[: part.stop - part.start]

    def buffer(self, number, rows, part):
        """Number 0, 1 or 2 of the room as matrices (rows, k), one a slice of a part."""
        shape = part.stop - part.start, rows, self.k
        return self.room[number][: shape[0] * rows * self.k].reshape(shape)

    def run(self, rounds=1):
        """Threshold. rounds: steps of power iteration; a basis with new columns makes COLD more."""
        self.values = np.empty((len(self.X), self.k), self.X.dtype) if self.whole else None
        rounds, self.cold, self.overflowed, self.calls = rounds + self.cold, 0, 0, self.calls + 1
        for part, exact in zip(self.parts, self.exact):
            P = self.project(part, rounds)
            self.keep(part, *exact.run())
            self.finish(part, P)

    def leading(self, count, rounds=3):
        """(N, count) on the host: leading singular values of X after so many steps, falling; X stays. Never too large
        but for rounding; the last of them are right only where k is well above count."""
        rounds, self.cold, self.calls, values = rounds + self.cold, 0, self.calls + 1, []
        nothing = self.tools.array(np.zeros(len(self.cores), self.X.dtype))
        none = self.tools.full(len(self.cores), 0)
        for part in self.parts:
            self.project(part, rounds)
            core = self.core(part)
            exact = self.tools.thresholding(core, nothing[: len(core)], none[: len(core)], True)
            values.append(exact.run()[0][:, :count])
        return np.concatenate(values)

    def project(self, part, rounds):
        """P after so many steps; the core becomes W' Q, the basis Q."""
        X, Q, (m, n) = self.X[part], self.basis[part], self.X.shape[1:]
        A, P, W, spare = (self.buffer(*place, part) for place in ((0, m), (1, m), (0, n), (2, n)))
        for number in range(rounds):
            self.renew(Q, self.gone[part], (self.k, self.calls, number))
            self.tools.product(X, Q, A)
            self.orth(A, P, A)
            self.tools.product(transposed(X), P, W)
            self.gone[part] = self.orth(W, Q, spare).diagonal(axis1=1, axis2=2) == 0
        self.tools.product(transposed(W), Q, self.core(part))
        return P

    def orth(self, A, near, far):
        """near = orthonormal columns, or zeros, that span A's; returns the last factor. far is overwritten; it may be
        A."""
        gram, factor = self.grams[: len(A)], self.factors[: len(A)]
        shift = SHIFT * self.k * float(np.finfo(A.dtype).eps)
        for out in (near, far, near):
            self.tools.product(transposed(A), A, gram)
            self.tools.whiten(gram, A.dtype.type(shift), factor)
            self.tools.product(A, factor, out)
            A, shift = out, 0.0
        return factor

    def renew(self, Q, gone, key):
        """Columns of Q that are gone, 0, become random by a key, so that the subspace can grow again."""
        which = self.tools.numbers(gone.any(axis=1))
        if len(which):
            if self.spare[0] != key:
                self.spare = key, self.random(self.k, *key)
            Q[which] += gone[which][:, None, :] * self.spare[1]

    def keep(self, slices, values, ranks):
        """Values and ranks of some slices."""
        self.ranks[slices] = ranks
        if self.whole:
            self.values[slices] = values[:, : self.k]

    def finish(self, part, P):
        """X = P core Q'; slices that overflow are thresholded whole."""
        X, product = self.X[part], self.buffer(0, self.X.shape[1], part)
        which = self.overflowing(part)
        whole = X[which] if len(which) else X[:0]
        if len(which) < len(X):
            self.tools.product(P, self.core(part), product)
            self.tools.product(product, transposed(self.basis[part]), X)
        if len(which):
            results = self.tools.threshold(whole, self.lam[part][which], self.cap[part][which], self.whole)
            X[which] = whole
            self.keep(part.start + self.tools.host(which), *results)
        self.overflowed += len(which)

    def overflowing(self, part):
        """Numbers of a part's slices that want more than k vectors."""
        which = np.flatnonzero(self.ranks[part] == self.k)
        if len(which):
            which = which[self.tools.host(self.cap[part])[which] > self.k]
        return self.tools.array(which)
