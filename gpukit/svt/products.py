"""Thresholding by matrix products alone, at a GPU's peak rate: for slices too large for shared memory.

B (q, p), q >= p, is a slice or its transpose, whichever is tall. Q is its polar factor, U V' where B is
U diag(sigma) V'. S is the matrix sign of Q'B - lambda I, which is V sign(diag(sigma - lambda)) V'. Then

    U (diag(sigma) - lambda)+ V' = (B - lambda Q) (I + S) / 2

S may be inexact where sigma is close to lambda, because it is multiplied by nearly 0. Q and S may be inexact where
sigma is far below lambda. Both result from iterating x -> a x + b x^3 + c x^5 on singular values and eigenvalues:

- STEADY, while some relevant values are small. It multiplies them by 3.65 and keeps values of 0.15 or more above 1/2.
  The steepest polynomials (4.26) map large values down to the size of rounding errors, which are then 20 times the
  error and more. STEADY is designed for [0, 1.01]: values above 1 by rounding would grow sevenfold per step beyond it.
- then the polynomials closest to 1 on the remaining interval.

Singular values are not computed, and ranks cannot be capped. Cost of a slice, in products of p x p by p x p: 46 to
73 in float32, depending on the ratio of lambda to the largest singular value; 85 to 148 in float64.
Source: Higham, Functions of Matrices (2008), 5.2, 8.1; Nakatsukasa and Higham, SIAM J. Matrix Anal. Appl. 33 (2012),
1125-1140 (why large values must not become small); Chen and Chow, arXiv 1408.3340 (nearest polynomials, step by step).
"""

import importlib.util

import numpy as np

from gpukit.svt.plan import LARGE_ON_GPU, sides
from gpukit.svt.tools import make_tools, transposed

SCRATCH = 512 << 20  # bytes: 64 slices of 512 x 512 in float32 fill a GPU

STEADY = (3.6548, -8.2034, 5.481)  # 1 at 0.433 and at 1.01, 1/2 between them, at 0.843
LOW = 0.4999  # lower bound of the values after STEADY
# By bytes of a number, relative to the largest singular value: relevant for Q, for S; tolerance of steps; rounding.
BOUNDS = {4: (1e-5, 2e-5, 1e-7, 1e-6), 8: (1e-12, 1e-12, 1e-15, 1e-14)}


def pays(shape):
    """Return True if products are faster for slices (N, m, n).

    On a GPU, with cupy.
    """
    return sides(shape)[0] > LARGE_ON_GPU and importlib.util.find_spec("cupy") is not None


def workspace_of(shape, itemsize):
    """Return bytes of workspace of a slice."""
    p, q = sides(shape)
    return (3 * q + 5 * p) * p * itemsize


def batch_of(shape, itemsize):
    """Return the number of slices of a batch."""
    return max(1, min(shape[0], SCRATCH // workspace_of(shape, itemsize)))


def memory_needed(shape, dtype):
    """Return device bytes for X, thresholded in place, and for ProductThresholding."""
    size = np.dtype(dtype).itemsize
    return int(np.prod(shape)) * size + batch_of(shape, size) * workspace_of(shape, size)


class ProductThresholding:
    """Repeated thresholding of the same arrays: run() reads X and lam and writes out, which may be X.

    X, out (N, m, n) float32 or float64, C-contiguous; lam (N,) of their type; numpy arrays, or cupy's with on_gpu.
    Memory: eight matrices a slice, up to SCRATCH at a time. Raises DeviceError without cupy.
    """

    def __init__(self, X, lam, out, on_gpu=False, workspace=None):
        self.tools = make_tools(on_gpu, workspace)
        self.X, self.lam, self.out = X, lam, out
        (p, q), empty = sides(X.shape), self.tools.empty
        batch = batch_of(X.shape, X.itemsize)
        self.parts = [slice(first, min(first + batch, len(X))) for first in range(0, len(X), batch)]
        self.tall = [empty((batch, q, p), X.dtype) for _ in range(3)]
        self.square = [empty((batch, p, p), X.dtype) for _ in range(5)]
        self.ranks = np.zeros(len(X), np.int32)

    def run(self):
        """Threshold and return ranks (N,) int32 on the host.

        A rank is the number of singular values above lam and above rounding errors.
        """
        for part in self.parts:
            ranks = self.threshold(self.X[part], self.lam[part], self.out[part])
            self.ranks[part] = self.tools.host(ranks).astype(np.int32)
        return self.ranks

    def threshold(self, X, lam, out):
        """Threshold X into out; return ranks as numbers of X's type."""
        xp, product = self.tools.library, self.tools.product
        counts, resolved, goal, rounding = BOUNDS[X.itemsize]
        B, P, spare = (array[: len(X)] for array in self.tall)
        G, Z, T, M, other = (array[: len(X)] for array in self.square)
        unit = self.units(X)
        B[...] = (X if X.shape[1] >= X.shape[2] else transposed(X)) * unit[:, None, None]
        lam = lam * unit
        size = self.sizes(B, G, Z)
        xp.divide(B, size[:, None, None], out=P)
        bound = xp.minimum(xp.maximum(lam, X.dtype.type(rounding) * size), size)
        least = min(max(float(self.tools.host((lam / size).min())), counts), 1.0)
        P = self.iterate_polynomials(P, spare, steps(least, goal), (G, Z, T))
        product(transposed(P), B, G)
        self.shift(G, -bound)
        xp.divide(G, size[:, None, None], out=M)
        S = self.iterate_polynomials(M, other, steps(resolved, goal), (G, Z, T))
        ranks = self.finish(out, (B, P, S), (lam, size))
        out /= unit[:, None, None]
        return ranks

    def units(self, X):
        """Return powers of two (N,) that scale the slices.

        The largest absolute value of a slice becomes (0.5, 1]; 1 for zeros.
        """
        xp = self.tools.library
        largest = xp.maximum(X.max(axis=(1, 2)), -X.min(axis=(1, 2))).astype(np.float64)
        limit = float(np.finfo(X.dtype).maxexp - 2)
        exponents = xp.ceil(xp.log2(xp.where(largest > 0, largest, 1.0)))
        return xp.exp2(xp.clip(-exponents, -limit, limit)).astype(X.dtype)

    def sizes(self, B, G, Z):
        """Return upper bounds (N,) of the largest singular values: the 8-norm; 1 for zeros.

        The bounds are at most p^(1/8) times the singular values.
        """
        xp = self.tools.library
        self.tools.product(transposed(B), B, G)
        self.tools.product(G, G, Z)
        sums = (Z.reshape(len(Z), -1) ** 2).sum(axis=1)
        return xp.where(sums > 0, B.dtype.type(1.0001) * sums ** B.dtype.type(0.125), B.dtype.type(1)).astype(B.dtype)

    def iterate_polynomials(self, P, spare, polynomials, buffers):
        """Apply odd polynomials to P, alternating two buffers.

        Each is P a + P P'P b + P (P'P)^2 c; P and spare are (N, rows, p).
        """
        product, (G, Z, T) = self.tools.product, buffers
        for polynomial in polynomials:
            product(transposed(P), P, G)
            product(G, G, Z)
            self.tools.combine(G, Z, polynomial, T)
            product(P, T, spare)
            P, spare = spare, P
        return P

    def shift(self, squares, offsets):
        """Add by (N,) I to squares (N, p, p) in place."""
        N, p, _ = squares.shape
        squares.reshape(N, p * p)[:, :: p + 1] += offsets[:, None]

    def finish(self, out, matrices, numbers):
        """Write out = (B - lam P) (I + S) / 2; return the ranks.

        out is 0 where lam exceeds all values.
        """
        xp, (B, P, S), (lam, size) = self.tools.library, matrices, numbers
        one = xp.ones_like(lam)
        self.shift(S, one)
        S *= (xp.where(lam < size, one, 0 * one) / 2)[:, None, None]
        P *= xp.minimum(lam, size)[:, None, None]
        B -= P
        if out.shape[1] >= out.shape[2]:
            self.tools.product(B, S, out)
        else:
            self.tools.product(transposed(S), transposed(B), out)
        p = S.shape[1]
        return xp.rint(S.reshape(len(S), p * p)[:, :: p + 1].sum(axis=1))


def steps(least, goal):
    """Return polynomials that map [least, 1] to within goal of 1.

    Each is (a, b, c).
    """
    polynomials, a, b, c = [], *STEADY
    while least < LOW:
        polynomials.append(STEADY)
        least = min(a * least + b * least**3 + c * least**5, LOW) if least < 0.3 else LOW
    most, off = 1.0, 1.0
    while off > goal:
        *polynomial, off = nearest(least, most)
        polynomials.append(tuple(polynomial))
        least, most = 1.0 - off, 1.0 + off
    return polynomials


def nearest(least, most):
    """Return (a, b, c, off) of the polynomial nearest to 1.

    It is a x + b x^3 + c x^5 on [least, most]. off is its largest distance from 1.
    """
    if most - least < 1e-5:
        return 15 / 8, -10 / 8, 3 / 8, ((most - least) / 2) ** 3
    low, high, last = (3 * least + most) / 4, (least + 3 * most) / 4, np.inf
    while True:  # Remez: the extrema of the error, alternately below and above 1
        points = np.array([least, low, high, most])
        table = np.column_stack((points, points**3, points**5, [1.0, -1.0, 1.0, -1.0]))
        a, b, c, off = np.linalg.solve(table, np.ones(4))
        if abs(off - last) <= 1e-12:
            return float(a), float(b), float(c), float(off)
        root = np.sqrt(9 * b * b - 20 * a * c)
        low, high, last = np.sqrt((-3 * b - root) / (10 * c)), np.sqrt((-3 * b + root) / (10 * c)), off
