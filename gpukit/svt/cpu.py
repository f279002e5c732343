"""Host steps of the thresholding on the CPU; gpu.py has the same functions for device arrays.

Large float64 slices are thresholded by numpy's LAPACK, whose blocking is faster than rotations. The right singular
vectors V and the squared singular values come from the Gram matrix B'B, at half the cost of a decomposition, and
Y = B V diag((1 - lam / sigma)+) V'. Squaring loses values below sqrt(eps) of the largest. Y does not need them, because
nothing below lam is kept: where lam^2 is at least `share` of |B'B|, the error is below 1e-13 of the slice. Slices with
a smaller lam, and calls that return the values, use the full decomposition.
"""

import math

import numpy as np

from gpukit._pool import cores, parallel_map, single_threaded_blas
from gpukit.errors import GpukitError
from gpukit.svt.plan import CPU_BATCH, LAUNCHES, buffers, check_converged, sides
from gpukit.svt.twins import bidiagonal as bidiagonal_twins
from gpukit.svt.twins import bulge_chasing as chase_twins


def threshold_on_host(X, lam, whole, require):
    """Return (out, values or None, ranks) of host arrays; require(bytes): check of the device's memory."""
    out = np.empty_like(X)
    solver = threshold_by_lapack if lapack_pays(X.shape, X.dtype) else threshold
    values, ranks = solver(X, lam, out, whole)
    return out, values if whole else None, ranks


def threshold(X, lam, out, whole=False, cap=None, work=None):
    """Threshold into out and return (values, ranks).

    values (N, min(m, n)) or (N, 0); ranks (N,) int32. X, out (N, m, n) float32 or float64, C-contiguous, lam (N,) of
    their type, cap (N,) int32 or None: the largest number of singular vectors to keep. Nothing is checked. whole:
    return all singular values. work: plan.Buffers to reuse, or None. Raises GpukitError for a slice that does not
    converge.
    """
    p, _ = sides(X.shape)
    values = np.empty((len(X), p if whole else 0), X.dtype)
    ranks = np.empty(len(X), np.int32)
    cap = np.full(len(X), p, np.int32) if cap is None else cap
    work = work or buffers(min(len(X), CPU_BATCH), p, X.dtype, np.empty)
    for begin in range(0, len(X), CPU_BATCH):
        part = slice(begin, begin + CPU_BATCH)
        batch(X[part], lam[part], cap[part], work, out[part], values[part], ranks[part])
    return values, check_converged(ranks)


def _columns(buffer, count):
    """Return a matrix of `count` columns at the start of a buffer: contiguous, so that no other type is compiled."""
    return buffer.ravel()[: len(buffer) * count].reshape(len(buffer), count)


def batch(X, lam, cap, work, out, values, ranks):
    """Threshold slices, at most the number that the workspace holds."""
    d, e, scales, states, spans, turns, V, seats, weights = work
    d, e = _columns(d, len(X)), _columns(e, len(X))
    scales, states, V = scales[: len(X)], states[: len(X)], V[: len(X)]
    bidiagonal_twins.bidiagonalize(X, d, e, scales, states, V)
    for _ in range(LAUNCHES):
        chase_twins.chase(d, e, states, spans, turns)
        chase_twins.rotate(states, spans, turns, V)
        if not states[:, 1].any():
            break
    chase_twins.arrange(d, states, scales, lam, cap, seats, weights, ranks, values)
    chase_twins.multiply(X, V, seats, weights, ranks, out)


def lapack_pays(shape, dtype):
    """Return True if LAPACK is faster than the CPU twins; shape: (N, m, n) of the slices."""
    least = 96  # shorter side
    return sides(shape)[0] >= least and np.dtype(dtype) == np.float64


def threshold_by_lapack(X, lam, out, whole=False):
    """Threshold float64 slices, all vectors kept; see threshold. Products of a few numbers must not overflow."""
    values = np.empty((len(X), sides(X.shape)[0] if whole else 0))

    def task(k):
        return _threshold_slice(X[k], float(lam[k]), out[k], values[k])

    try:
        if len(X) == 1 or 2 * len(X) < cores():  # LAPACK's own threads use the cores
            ranks = [task(k) for k in range(len(X))]
        else:
            with single_threaded_blas():
                ranks = parallel_map(task, range(len(X)))
    except np.linalg.LinAlgError as error:
        raise GpukitError(
            f"the singular values of a slice did not converge: {error}. Look for numbers of very different size in it."
        ) from error
    return values, np.array(ranks, np.int32)


def _threshold_slice(X, lam, out, values):
    """Threshold one slice into out (m, n) and, unless empty, values; return its rank."""
    share = 1e-5  # least lam^2 relative to |B'B| for which its eigenvalues are accurate enough
    tall, result = (X, out) if len(X) >= X.shape[1] else (X.T, out.T)
    least = share * np.vdot(X, X) / math.sqrt(tall.shape[1])  # a cheap lower bound of share of |B'B|
    if not len(values) and lam * lam >= least:
        gram = tall.T @ tall
        if lam * lam >= share * np.linalg.norm(gram):
            return _threshold_by_gram(tall, gram, lam, result)
    return _threshold_by_svd(X, lam, out, values)


def _threshold_by_gram(B, gram, lam, out):
    squares, V = np.linalg.eigh(gram)
    first = np.searchsorted(squares, lam * lam, side="right")
    V, sigma = V[:, first:], np.sqrt(squares[first:])
    np.matmul((B @ V) * (1 - lam / sigma), V.T, out=out)
    return len(sigma)


def _threshold_by_svd(X, lam, out, values):
    rounding = 1e-14  # relative to a slice's largest singular value, see formulas.tolerances
    U, sigma, V = np.linalg.svd(X, full_matrices=False)
    if len(values):
        values[:] = sigma
    rank = int((sigma > max(lam, rounding * sigma[0])).sum())
    np.matmul(U[:, :rank] * (sigma[:rank] - lam), V[:rank], out=out)
    return rank
