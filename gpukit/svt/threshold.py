"""`singular_value_threshold`: the thresholding as a public function, its input checked; rooms call gpu.py or cpu.py."""

import numpy as np

from gpukit import device as devices
from gpukit.base.arrays import as_array
from gpukit.errors import DataError, ParameterError
from gpukit.svt.plan import MOST

SMALL, RAISE = 2.0**-900, 2.0**100  # slices of float64 below, and what they are multiplied by


def singular_value_threshold(X, lam, *, device="auto", return_values=False):
    """U (S - lam)+ V' for every slice U S V' of a stack of matrices.

    X (N, m, n) float32 or float64 (others become float64), finite, m and n up to 512. lam: a number, or one a slice
    (N,), not negative. device: "auto", "cpu", "cuda", "cuda:N". return_values: also return what the slices have.

    Returns Y (N, m, n) of X's dtype, or (Y, values, ranks): values (N, min(m, n)), the singular values of X, falling;
    ranks (N,) int32, how many are above lam, those in the rounding error of the slice's largest left out. Relative to
    the slice, Y is right to 1e-5 in float32 and 1e-12 in float64. Numpy arrays, X is not changed.

    Raises DataError for an X or lam that is not as above, ParameterError for slices over 512, DeviceError without the
    GPU asked for or on one with too little shared memory, DeviceMemoryError when it is too small, GpukitError for a
    slice that does not converge (none is known).
    Source: Algorithm 2 of the graph-tensor imputation paper; see the room's __init__.py.

    >>> singular_value_threshold(np.diag([3.0, 1.0])[None], 0.5, device="cpu")[0].round(12) + 0.0
    array([[2.5, 0. ],
           [0. , 0.5]])
    """
    X, largest = checked_slices(X)
    lam = checked_thresholds(lam, X)
    place = devices.resolve(device)
    if 0 in X.shape:
        out, values, ranks = np.zeros_like(X), np.zeros((len(X), min(X.shape[1:])), X.dtype), np.zeros(len(X), np.int32)
    else:
        X, lam, raised = _raised(X, lam, largest)
        what = f"thresholding {len(X)} slices of {X.shape[1]} x {X.shape[2]} {X.dtype}"
        with devices.reported(place, what):
            steps = devices.engine(place, "gpukit.svt.host")
            devices.require_memory(place, steps.memory_needed(X.shape, X.dtype, return_values), what)
            out, values, ranks = _lowered(steps.threshold(X, lam, return_values), raised)
    return (out, values, ranks) if return_values else out


def _raised(X, lam, largest):
    """(X, lam, which): slices of next to the smallest float64 times RAISE, or None where there are none: their squares
    are 0, and no power of two in float64's range brings them near 1."""
    which = np.flatnonzero(largest < SMALL) if X.dtype == np.float64 else ()
    if not len(which):
        return X, lam, None
    X, lam = X.copy(), lam.copy()
    X[which] *= RAISE
    with np.errstate(over="ignore"):
        lam[which] *= RAISE
    return X, lam, which


def _lowered(found, raised):
    """(out, values or None, ranks) of the slices as they were, from those of `_raised`."""
    for array in found[:2]:
        if raised is not None and array is not None:
            array[raised] /= RAISE
    return found


def checked_slices(X):
    """(X as a C-contiguous numpy array of float32 or float64, the largest size of a number of each slice)."""
    X = as_array(X, "X")
    if X.ndim != 3:
        raise DataError(f"X must be slices (N, m, n); its shape is {X.shape}. One matrix is X[None].")
    if X.dtype.kind not in "iufb" or X.dtype.itemsize > 8:
        raise DataError(f"X must be float32 or float64; it is {X.dtype}.")
    if max(X.shape[1:]) > MOST:
        raise ParameterError(
            f"slices of {X.shape[1]} x {X.shape[2]} are too large: {MOST} rows and columns are the most. For few large "
            "matrices use numpy.linalg.svd; else cut the slices into parts (fewer columns a slice)."
        )
    X = np.ascontiguousarray(X, np.float32 if X.dtype in (np.float32, np.float16) else np.float64)
    if 0 in X.shape:
        return X, np.zeros(len(X))
    largest = np.maximum(X.max(axis=(1, 2)), -X.min(axis=(1, 2)))  # nan and inf stay
    if not np.isfinite(largest).all():
        at = np.unravel_index(np.argmin(np.isfinite(X)), X.shape)
        raise DataError(f"X[{', '.join(map(str, at))}] is {X[at]}: fill or remove what is not a finite number first.")
    return X, largest


def checked_thresholds(lam, X):
    """lam as (N,) of X's dtype."""
    lam = as_array(lam, "lam")
    if lam.dtype.kind not in "iufb" or lam.ndim > 1 or (lam.ndim == 1 and len(lam) != len(X)):
        raise DataError(f"lam must be a number or one a slice ({len(X)},); it is {lam.dtype} of shape {lam.shape}.")
    good = np.isfinite(lam) & (lam >= 0)
    if not good.all():
        raise DataError(f"lam must be finite and not negative; it holds {lam[~good].flat[0]}.")
    return np.ascontiguousarray(np.broadcast_to(lam, len(X)), X.dtype)
