"""A mean taken off before the imputation and put back after it: what is missing shrinks towards it, not towards 0.

Thresholding pulls an estimate to zero, and the normalized Laplacian's smoothest signal is no constant: data that lie
far from zero, as speeds or temperatures do, need this.
"""

import numpy as np

from gpukit.base import check_choice
from gpukit.base.arrays import beside, on_host
from gpukit.errors import DataError

CENTERS = ("none", "global", "entry")


def spread(mask):
    """The mask as a view that broadcasts over (N, m, n): (N,) becomes (N, 1, 1), (N, m, n) stays."""
    return mask.reshape(len(mask), 1, 1) if mask.ndim == 1 else mask


def mean_of(tensor, mask, how):
    """The mean to be taken off: (m, n) float64.

    tensor (N, m, n); mask (N,) or (N, m, n) bool, True where observed; nothing else of the tensor is read. how: 'none'
    (zeros), 'global' (one mean of all observed values) or 'entry' (for each of the m n entries the mean over the
    vertices that observe it; entries that nobody observes get the global mean). Raises ParameterError for another
    `how` and DataError when nothing is observed.
    """
    check_choice("center", how, CENTERS)
    shape = tensor.shape[1:]
    if how == "none":
        return np.zeros(shape)
    count, total = _sums(tensor, mask)
    if not count.any():
        raise DataError("no entry of the tensor is observed: there is nothing to take a mean of.")
    overall = np.full(shape, total.sum() / count.sum())
    return overall if how == "global" else np.divide(total, count, out=overall, where=count > 0)


def centred(tensor, mask, mean):
    """(N, m, n) of the tensor's type, new: the observed values less mean (m, n), and 0 where something is missing."""
    out = tensor - beside(mean.astype(tensor.dtype), tensor) if mean.any() else tensor.copy()
    np.copyto(out, 0, where=beside(~spread(mask), tensor))
    return out


def restored(tensor, mask, estimate, mean):
    """(N, m, n) of the tensor's type, new: the tensor's own values, to the bit, where observed, else estimate + mean.

    estimate (N, m, n): centred, as the imputation leaves it.
    """
    return np.where(spread(mask), tensor, (estimate + mean).astype(tensor.dtype, copy=False))


def _sums(tensor, mask):
    """(m, n) counts and (m, n) float64 sums of what is observed."""
    seen = beside(mask, tensor)
    if mask.ndim == 1:
        return np.full(tensor.shape[1:], mask.sum()), on_host(tensor[seen].sum(axis=0, dtype=np.float64))
    return mask.sum(axis=0), on_host(np.where(seen, tensor, 0).sum(axis=0, dtype=np.float64))
