"""Subtraction of a mean before the imputation and its addition afterwards.

Missing values shrink towards the mean instead of 0. Thresholding shrinks estimates to zero, and the smoothest signal
of the normalized Laplacian is not constant: data far from zero, such as speeds or temperatures, need centering.
"""

from typing import Literal, get_args

import numpy as np

from gpukit.base import check_choice
from gpukit.errors import DataError

Center = Literal["none", "global", "entry"]
CENTERS = get_args(Center)


def spread(mask):
    """Return the mask as a view that broadcasts over (N, m, n): (N,) becomes (N, 1, 1)."""
    return mask.reshape(len(mask), 1, 1) if mask.ndim == 1 else mask


def mean_of(tensor, mask, how):
    """Return the mean to subtract, (m, n) float64.

    tensor (N, m, n); mask (N,) or (N, m, n) bool, True where observed; other values of the tensor are not read. how:
    'none' (zeros), 'global' (one mean of all observed values) or 'entry' (for each of the m n entries the mean over the
    vertices that observe it; the global mean if no vertex does). Raises ParameterError for another `how` and DataError
    when nothing is observed.
    """
    check_choice("center", how, CENTERS)
    shape = tensor.shape[1:]
    if how == "none":
        return np.zeros(shape)
    count, total = _sums(tensor, mask)
    if not count.any():
        raise DataError("no entry of the tensor is observed: a mean needs at least one value.")
    mean = np.full(shape, total.sum() / count.sum())
    return mean if how == "global" else np.divide(total, count, out=mean, where=count > 0)


def centre_tensor(tensor, mask, mean):
    """Return a new (N, m, n) of the tensor's type: observed values minus mean (m, n), 0 where missing."""
    out = tensor - mean.astype(tensor.dtype) if mean.any() else tensor.copy()
    np.copyto(out, 0, where=~spread(mask))
    return out


def _sums(tensor, mask):
    """Return (m, n) counts and (m, n) float64 sums of observed values."""
    if mask.ndim == 1:
        return np.full(tensor.shape[1:], mask.sum()), tensor[mask].sum(axis=0, dtype=np.float64)
    return mask.sum(axis=0), np.where(mask, tensor, 0).sum(axis=0, dtype=np.float64)
