"""Public function `singular_value_threshold`, with input validation."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Literal, overload

import numpy as np

from gpukit import device as devices
from gpukit.base.arrays import as_array
from gpukit.errors import DataError, ParameterError
from gpukit.svt import products
from gpukit.svt.plan import MOST

if TYPE_CHECKING:
    from gpukit.typing import ArrayLike, DeviceLike, Int32

SMALLEST = 2.0**-900  # of float64 slices: squares of smaller ones underflow


@overload
def singular_value_threshold(
    X: ArrayLike, lam: ArrayLike, *, device: DeviceLike = ..., return_values: Literal[False] = ...
) -> np.ndarray: ...
@overload
def singular_value_threshold(
    X: ArrayLike, lam: ArrayLike, *, device: DeviceLike = ..., return_values: Literal[True]
) -> tuple[np.ndarray, np.ndarray, Int32]: ...
def singular_value_threshold(X, lam, *, device="auto", return_values=False):
    """Compute U (S - lam)+ V' for every slice U S V' of X.

    Algorithm 2 of the graph-tensor imputation paper; gpukit/svt/__init__.py describes the steps.

    Parameters
    ----------
    X : array (N, m, n), float32 or float64
        Finite; other types become float64. m and n are at most 512. X is unchanged.
    lam : float or array (N,)
        Threshold of each slice, not negative.
    device : {'auto', 'cpu', 'cuda', 'cuda:N'}
    return_values : bool
        Return singular values and ranks too, default False.

    Returns
    -------
    Y : array (N, m, n) of X's dtype
        The error relative to the slice is at most 1e-5 in float32 and 1e-12 in float64.
    values : array (N, min(m, n))
        Singular values of X in descending order; only with return_values.
    ranks : array (N,) int32
        Number of values above lam and above the rounding error of the slice's largest; only with return_values.

    Raises
    ------
    DataError
        X or lam is invalid.
    ParameterError
        A slice is larger than 512.
    DeviceError, DeviceMemoryError
        The requested GPU does not exist, has too little shared memory, or too little memory.
    GpukitError
        A slice does not converge (none is known).

    Examples
    --------
    >>> singular_value_threshold(np.diag([3.0, 1.0])[None], 0.5, device="cpu")[0].round(12) + 0.0
    array([[2.5, 0. ],
           [0. , 0.5]])
    """
    X = check_slices(X)
    lam = check_thresholds(lam, X)
    target = devices.resolve(device)
    unit = unit_of(X)
    if (unit != 1).any():
        with np.errstate(over="ignore"):  # an infinite threshold exceeds all values as well
            X, lam = X * unit[:, None, None], lam * unit
    if 0 in X.shape:
        out, values, ranks = np.zeros_like(X), np.zeros((len(X), min(X.shape[1:])), X.dtype), np.zeros(len(X), np.int32)
    else:
        task = f"thresholding {len(X)} slices of {X.shape[1]} x {X.shape[2]} {X.dtype}"
        with devices.translate_memory_errors(target, task):
            require = functools.partial(devices.require_memory, target, what=task)
            if target.is_cuda:
                threshold_on_host = products.threshold_on_host
            else:
                from gpukit.svt.cpu import threshold_on_host
            out, values, ranks = threshold_on_host(X, lam, return_values, require)
    if (unit != 1).any():
        with np.errstate(over="ignore"):  # a singular value may exceed the range of its slice's numbers
            out, values = out / unit[:, None, None], values / unit[:, None] if return_values else None
    return (out, values, ranks) if return_values else out


def check_slices(X):
    """Return X, contiguous float32 or float64."""
    X = as_array(X, "X")
    if X.ndim != 3:
        raise DataError(f"X must be slices (N, m, n); its shape is {X.shape}. One matrix is X[None].")
    if X.dtype.kind not in "iufb" or X.dtype.itemsize > 8:
        raise DataError(f"X must be float32 or float64; it is {X.dtype}.")
    if max(X.shape[1:]) > MOST:
        raise ParameterError(
            f"slices of {X.shape[1]} x {X.shape[2]} are too large: at most {MOST} rows and columns are supported. Use "
            "numpy.linalg.svd for a few large matrices, or cut the slices into parts with fewer columns."
        )
    X = np.ascontiguousarray(X, np.float32 if X.dtype in (np.float32, np.float16) else np.float64)
    if 0 in X.shape:
        return X
    largest = np.maximum(X.max(axis=(1, 2)), -X.min(axis=(1, 2)))  # nan and inf stay
    if not np.isfinite(largest).all():
        position = np.unravel_index(np.argmin(np.isfinite(X)), X.shape)
        raise DataError(
            f"X[{', '.join(map(str, position))}] is {X[position]}: fill or remove values that are not finite first."
        )
    if X.dtype == np.float64 and ((largest > 0) & (largest < SMALLEST)).any():
        raise DataError(f"all values of a slice are below {SMALLEST:.0e}: multiply X and lam by a power of two.")
    return X


def unit_of(X):
    """Return powers of two (N,) whose products with the slices have sums and squares within the range.

    They are 1 for slices of moderate size.
    """
    most, unit = np.finfo(X.dtype).max, 2.0**-20  # a slice has 2**18 numbers
    largest = np.maximum(X.max(axis=(1, 2), initial=0), -X.min(axis=(1, 2), initial=0))
    if X.dtype == np.float64:
        exponents, moderate = np.frexp(largest)[1], 200  # of products of a few numbers
        return np.ldexp(1.0, np.where(abs(exponents) > moderate, -exponents, 0))
    return np.where(largest > most * unit, unit, 1.0).astype(X.dtype)


def check_thresholds(lam, X):
    """Return lam as (N,) of X's dtype."""
    lam = as_array(lam, "lam")
    if lam.dtype.kind not in "iufb" or lam.ndim > 1 or (lam.ndim == 1 and len(lam) != len(X)):
        raise DataError(f"lam must be a number or an array ({len(X)},); it is {lam.dtype} of shape {lam.shape}.")
    valid = np.isfinite(lam) & (lam >= 0)
    if not valid.all():
        raise DataError(f"lam must be finite and not negative; it contains {lam[~valid].flat[0]}.")
    return np.ascontiguousarray(np.broadcast_to(lam, len(X)), X.dtype)
