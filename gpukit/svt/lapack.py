"""Thresholding on the CPU by numpy's LAPACK: large slices of float64, which its blocks serve better than rotations do.

The right singular vectors V and the squares of the values are those of the Gram matrix B'B, at half the price of a
decomposition, and Y = B V diag((1 - lam / sigma)+) V'. Squares lose what lies below sqrt(eps) of the largest value; Y
does not need it, for nothing below lam is kept: where lam^2 is at least SHARE of |B'B| the error is about 1e-14 of the
slice. Slices with a smaller lam, and whoever wants the values, get the decomposition itself.
"""

import math

import numpy as np

from gpukit._pool import alone, cores, shared_out
from gpukit.errors import GpukitError
from gpukit.svt.plan import sides

LARGE = 128  # shorter sides from which LAPACK is faster than the twins
SHARE = 1e-4  # of |B'B|: the least lam^2 that its eigenvalues are accurate enough for
ROUNDING = 1e-14  # of a slice's largest singular value, see formulas.tolerances


def pays(shape, dtype):
    """Whether slices (N, m, n) are thresholded faster here than by the twins."""
    return sides(shape)[0] >= LARGE and np.dtype(dtype) == np.float64


def threshold(X, lam, out, whole=False):
    """See svt.cpu.threshold, of float64, all vectors kept."""
    values = np.empty((len(X), sides(X.shape)[0] if whole else 0))

    def task(k):
        with np.errstate(over="ignore"):  # a value beyond the largest number is inf
            return _threshold_slice(X[k], float(lam[k]), out[k], values[k])

    try:
        return values, np.array(_all_slices(task, len(X)), np.int32)
    except np.linalg.LinAlgError as error:
        raise GpukitError(
            f"the singular values of a slice did not converge: {error}. Look for numbers of very different size in it."
        ) from error


def _all_slices(task, slices):
    """[task(k)], the cores shared by slices; by LAPACK's own threads where these are fewer than half of the cores."""
    if 2 * slices < cores():
        return [task(k) for k in range(slices)]
    with alone():
        return shared_out(task, range(slices))


def _threshold_slice(X, lam, out, values):
    """The rank of one slice; out (m, n) and values, unless empty, are overwritten."""
    _, exponent = math.frexp(float(np.abs(X).max()))
    scale = math.ldexp(1.0, min(-exponent, 1023))  # squares then neither overflow nor vanish
    B, bound = X * scale, lam * scale
    tall = B if len(B) >= B.shape[1] else B.T
    if not len(values):
        gram = tall.T @ tall
        if bound * bound >= SHARE * np.linalg.norm(gram):
            return _by_gram(tall, gram, bound, scale, out if tall is B else out.T)
    return _by_decomposition(B, bound, scale, out, values)


def _by_gram(B, gram, bound, scale, out):
    squares, V = np.linalg.eigh(gram)
    first = np.searchsorted(squares, bound * bound, side="right")
    V, sigma = V[:, first:], np.sqrt(squares[first:])
    np.divide(((B @ V) * (1 - bound / sigma)) @ V.T, scale, out=out)
    return len(sigma)


def _by_decomposition(B, bound, scale, out, values):
    U, sigma, V = np.linalg.svd(B, full_matrices=False)
    if len(values):
        values[:] = sigma / scale
    rank = int((sigma > max(bound, ROUNDING * sigma[0])).sum())
    np.divide((U[:, :rank] * (sigma[:rank] - bound)) @ V[:rank], scale, out=out)
    return rank
