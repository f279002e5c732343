"""Observed values hidden on purpose to measure the error of imputation."""

from typing import NamedTuple

import numpy as np

from gpukit.base import check_real
from gpukit.base.arrays import place_like
from gpukit.errors import DataError
from gpukit.streams import Numpy


class Split(NamedTuple):
    """observed, hidden: masks of one shape, (N,) or (N, m, n); together the observed values."""

    observed: np.ndarray
    hidden: np.ndarray


def split(mask, share, seed, order=None):
    """Hide a share of the observed values: a Split.

    Values are hidden in the pattern of the missing ones. mask (N,) or (N, m, n) bool, True = observed; share, more than
    0 and less than 1. Whole vertices are hidden if most missing values belong to vertices without observations, else
    single entries. The same seed hides the same entries. order (N,): order of the vertices in which they are drawn.
    Raises DataError when nothing would be hidden or nothing left.
    """
    share = check_real("holdout", share, 0.0, 1.0, strict=True)
    if order is not None:
        position = np.argsort(order)
        return Split(*(part[position] for part in split(mask[order], share, seed)))
    observed_vertices = mask if mask.ndim == 1 else mask.reshape(len(mask), -1).any(axis=1)
    vertices = mask.ndim == 1 or 2 * (~observed_vertices).sum() * mask[0].size > (~mask).sum()
    positions = np.flatnonzero(observed_vertices if vertices else mask)
    count = max(1, round(share * len(positions)))
    if count >= len(positions):
        things = "vertices" if vertices else "entries"
        raise DataError(
            f"hiding a share of {share:g} of {len(positions)} observed {things} leaves no values to impute "
            "from. Use a smaller holdout."
        )
    chosen = np.random.default_rng([seed, Numpy.HELD_OUT_ENTRIES[0]]).permutation(positions)[:count]
    hidden = np.zeros(mask.shape, bool)  # in C order: written through a flat view
    if vertices:
        hidden[chosen] = mask[chosen]
    else:
        hidden.reshape(-1)[chosen] = True
    return Split(mask & ~hidden, hidden)


def watcher(tensor, parts):
    """Return a function of a completion over parts.observed: the mean absolute error on hidden values.

    tensor (N, m, n): centred like the completion's tensor.
    """
    truth, hidden_missing = tensor[place_like(parts.hidden, tensor)], place_like(parts.hidden[~parts.observed], tensor)
    return lambda completion: float(np.abs(completion.missing()[hidden_missing] - truth).mean(dtype=np.float64))
