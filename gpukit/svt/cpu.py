"""Host steps of the thresholding on the CPU; gpu.py has the same functions for device arrays."""

import numpy as np

from gpukit.svt.plan import CPU_BATCH, LAUNCHES, buffers, check_converged, sides
from gpukit.svt.twins import bidiagonal as bidiagonal_twins
from gpukit.svt.twins import bulge_chasing as chase_twins


def threshold_on_host(X, lam, whole, require):
    """Return (out, values or None, ranks) of host arrays; require(bytes): check of the device's memory."""
    out = np.empty_like(X)
    values, ranks = threshold(X, lam, out, whole)
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
