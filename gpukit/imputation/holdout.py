"""Part of what is observed, hidden on purpose, to see how well it is imputed."""

from typing import NamedTuple

import numpy as np

from gpukit.base import check_real
from gpukit.base.arrays import beside
from gpukit.errors import DataError
from gpukit.streams import Numpy


class Split(NamedTuple):
    """kept, hidden: masks of one shape, (N,) or (N, m, n); together what is observed."""

    kept: np.ndarray
    hidden: np.ndarray


def split(mask, share, seed):
    """Hide a share of what a mask observes, in the pattern in which the mask itself misses: a Split.

    mask (N,) or (N, m, n) bool, True = observed; share, more than 0 and less than 1. Whole vertices are hidden where
    most of what is missing belongs to vertices that miss everything, else single entries. The same seed hides the
    same entries. Raises DataError when nothing would be hidden or nothing left.
    """
    share = check_real("holdout", share, 0.0, 1.0, strict=True)
    seen = mask if mask.ndim == 1 else mask.reshape(len(mask), -1).any(axis=1)
    vertices = mask.ndim == 1 or 2 * (~seen).sum() * mask[0].size > (~mask).sum()
    places = np.flatnonzero(seen if vertices else mask)
    count = max(1, round(share * len(places)))
    if count >= len(places):
        things = "vertices" if vertices else "entries"
        raise DataError(
            f"hiding a share of {share:g} of {len(places)} observed {things} leaves nothing to impute "
            "from; give holdout a smaller share."
        )
    picked = np.random.default_rng([seed, Numpy.HELD_OUT_ENTRIES[0]]).permutation(places)[:count]
    hidden = np.zeros(mask.shape, bool)  # in C order: it is written to through a flat view
    if vertices:
        hidden[picked] = mask[picked]
    else:
        hidden.reshape(-1)[picked] = True
    return Split(mask & ~hidden, hidden)


def watcher(observed, parts):
    """A function of a session over parts.kept: the mean absolute error of its estimate of what is hidden.

    observed (N, m, n): centred as the session's tensor is.
    """
    truth, among = observed[beside(parts.hidden, observed)], beside(parts.hidden[~parts.kept], observed)
    return lambda session: float(np.abs(session.missing()[among] - truth).mean(dtype=np.float64))
