"""Thresholding by matrix products alone, which a GPU multiplies at its peak: for slices too large for shared memory.

B (q, p), q >= p, is a slice or its transpose, whichever is tall. With Q its polar factor, U V' where B is
U diag(sigma) V', and S the matrix sign of Q'B - lambda I, which is V diag(sigma - lambda) V',

    U (diag(sigma) - lambda)+ V' = (B - lambda Q) (I + S) / 2

Where sigma is next to lambda, S need not be known: it is multiplied by nearly 0. Where sigma is far below, neither need
Q. Both come from x -> a x + b x^3 + c x^5, applied to singular values and to eigenvalues, step by step:

- STEADY, as long as some that count are small: it multiplies them by 3.65, and takes nothing that is 0.15 or more below
  1/2. The steepest polynomials (4.26) fold large values down to where rounding errors are as large as they are: 20
  times the error and more. It is made for [0, 1.01]: what rounding lifts over 1 would grow sevenfold a step beyond it.
- then the polynomials that come nearest to 1 on the interval that is left.

Singular values are not found, and a cap on ranks is not possible. Cost of a slice, in products of p x p by p x p: 46 to
73 in float32, by how far lambda is below the largest singular value; 85 to 148 in float64.
Source: Higham, Functions of Matrices (2008), 5.2, 8.1; Nakatsukasa and Higham, SIAM J. Matrix Anal. Appl. 33 (2012),
1125-1140 (why large values must not become small); Chen and Chow, arXiv 1408.3340 (nearest polynomials, step by step).
"""

import importlib.util

import numpy as np

from gpukit.svt.plan import sides
from gpukit.svt.tools import make_tools, transposed

SCRATCH = 512 << 20  # bytes: 64 slices of 512 x 512 in float32 fill a GPU
LARGE = 128  # shorter sides above which products are faster on a GPU than the kernels of gpu.py

STEADY = (3.6548, -8.2034, 5.481)  # 1 at 0.433 and at 1.01, 1/2 between them, at 0.843
LOW = 0.4999  # where STEADY ends
# By bytes of a number: what of the largest singular value counts for Q, what for S, where steps end, what is rounding.
BOUNDS = {4: (1e-5, 2e-5, 1e-7, 1e-6), 8: (1e-12, 1e-12, 1e-15, 1e-14)}


def pays(shape):
    """Whether slices (N, m, n), on a GPU, are so large that products are faster, and cupy is there to multiply."""
    return sides(shape)[0] > LARGE and importlib.util.find_spec("cupy") is not None


def workspace_of(shape, itemsize):
    """Bytes of workspace a slice."""
    p, q = sides(shape)
    return (3 * q + 5 * p) * p * itemsize


def batch_of(shape, itemsize):
    """How many slices go at once."""
    return max(1, min(shape[0], SCRATCH // workspace_of(shape, itemsize)))


def memory_needed(shape, dtype):
    """Bytes on the device for X, thresholded in place, and what ProductThresholding allocates."""
    size = np.dtype(dtype).itemsize
    return int(np.prod(shape)) * size + batch_of(shape, size) * workspace_of(shape, size)


class ProductThresholding:
    """Thresholding of the same arrays, again and again: run() reads X and lam as they are then, and writes out, which
    may be X.

    X, out (N, m, n) float32 or float64, C-contiguous; lam (N,) of their type; numpy arrays, or with on_gpu cupy's.
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
        """Threshold: ranks (N,) int32 on the host, how many singular values are above lam and above rounding errors."""
        for part in self.parts:
            found = self.threshold(self.X[part], self.lam[part], self.out[part])
            self.ranks[part] = self.tools.host(found).astype(np.int32)
        return self.ranks

    def threshold(self, X, lam, out):
        """X thresholded: ranks as numbers of X's type."""
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
        P = self.walk(P, spare, steps(least, goal), (G, Z, T))
        product(transposed(P), B, G)
        self.shift(G, -bound)
        xp.divide(G, size[:, None, None], out=M)
        S = self.walk(M, other, steps(resolved, goal), (G, Z, T))
        ranks = self.finish(out, (B, P, S), (lam, size))
        out /= unit[:, None, None]
        return ranks

    def units(self, X):
        """(N,) powers of two that bring the largest number of each slice into (0.5, 1]; 1 for zeros."""
        xp = self.tools.library
        largest = xp.maximum(X.max(axis=(1, 2)), -X.min(axis=(1, 2))).astype(np.float64)
        limit = float(np.finfo(X.dtype).maxexp - 2)
        exponents = xp.ceil(xp.log2(xp.where(largest > 0, largest, 1.0)))
        return xp.exp2(xp.clip(-exponents, -limit, limit)).astype(X.dtype)

    def sizes(self, B, G, Z):
        """(N,) bounds of the largest singular values, at most p^(1/8) times them: the 8-norm; 1 for zeros."""
        xp = self.tools.library
        self.tools.product(transposed(B), B, G)
        self.tools.product(G, G, Z)
        sums = (Z.reshape(len(Z), -1) ** 2).sum(axis=1)
        return xp.where(sums > 0, B.dtype.type(1.0001) * sums ** B.dtype.type(0.125), B.dtype.type(1)).astype(B.dtype)

    def walk(self, P, spare, polynomials, room):
        """P a + P P'P b + P (P'P)^2 c, polynomial after polynomial; P and spare (N, rows, p) are used in turn."""
        product, (G, Z, T) = self.tools.product, room
        for polynomial in polynomials:
            product(transposed(P), P, G)
            product(G, G, Z)
            self.tools.combine(G, Z, polynomial, T)
            product(P, T, spare)
            P, spare = spare, P
        return P

    def shift(self, squares, by):
        """squares (N, p, p) + by (N,) I, in place."""
        N, p, _ = squares.shape
        squares.reshape(N, p * p)[:, :: p + 1] += by[:, None]

    def finish(self, out, matrices, numbers):
        """out = (B - lam P) (I + S) / 2, 0 where lam leaves nothing; ranks."""
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
    """The polynomials (a, b, c) that bring all of [least, 1] next to 1, to within goal."""
    found, a, b, c = [], *STEADY
    while least < LOW:
        found.append(STEADY)
        least = min(a * least + b * least**3 + c * least**5, LOW) if least < 0.3 else LOW
    most, off = 1.0, 1.0
    while off > goal:
        *polynomial, off = nearest(least, most)
        found.append(tuple(polynomial))
        least, most = 1.0 - off, 1.0 + off
    return found


def nearest(least, most):
    """(a, b, c, off): a x + b x^3 + c x^5 is off from 1 by at most `off` on [least, most], less than any other."""
    if most - least < 1e-5:
        return 15 / 8, -10 / 8, 3 / 8, ((most - least) / 2) ** 3
    low, high, last = (3 * least + most) / 4, (least + 3 * most) / 4, np.inf
    while True:  # Remez: where it is off most, in turn below and above 1
        places = np.array([least, low, high, most])
        table = np.column_stack((places, places**3, places**5, [1.0, -1.0, 1.0, -1.0]))
        a, b, c, off = np.linalg.solve(table, np.ones(4))
        if abs(off - last) <= 1e-12:
            return float(a), float(b), float(c), float(off)
        root = np.sqrt(9 * b * b - 20 * a * c)
        low, high, last = np.sqrt((-3 * b - root) / (10 * c)), np.sqrt((-3 * b + root) / (10 * c)), off
