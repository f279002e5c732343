"""Comparison of the paper's algorithm with simple methods on hidden values."""

from typing import NamedTuple

import numpy as np

from gpukit.imputation.centering import spread
from gpukit.imputation.problem import Problem
from gpukit.imputation.spectral import holdout
from gpukit.imputation.spectral.choose import reduced, splits
from gpukit.imputation.spectral.run import impute

OURS = "imputation"


class Sample(NamedTuple):
    """Data of a comparison: tensor (N, m, n), 0 where missing, its mask, and parts (holdout.Split)."""

    tensor: np.ndarray
    mask: np.ndarray
    parts: holdout.Split


class Standing(NamedTuple):
    """Result of a method on hidden values.

    name: 'imputation' or a method's; setting: a dict; error: the mean absolute error on the hidden values.
    """

    name: str
    setting: dict
    error: float


def sample_of(tensor, mask, seed, share=None):
    """Return a Sample of a tensor and its mask.

    tensor (N, m, n), 0 where missing; mask (N,) or (N, m, n). A large tensor is sampled by rows and columns of its
    slices. share: the share to hide, see holdout.split; None: the first split of choose.py. Raises DataError when too
    little is observed to hide any.
    """
    tensor, mask = reduced(tensor, mask, seed)
    return Sample(tensor, mask, splits(tensor, mask, seed)[0] if share is None else holdout.split(mask, share, seed))


def compare(adjacency, place, setting, sample):
    """Return [Standing], the least error first, of the imputation and the simple methods without order.

    adjacency: checked, csr (N, N). place, setting: run.Place and Setting without 'auto'. sample: a Sample.
    """
    from gpukit.imputation.auto.judging import filled  # both load numba
    from gpukit.imputation.simple import METHODS

    tensor, mask, parts = sample
    completed = tensor.copy()
    completed[~parts.observed] = impute(place, setting, tensor, mask, parts.hidden).estimate
    seen, hidden = (np.broadcast_to(spread(part), tensor.shape).reshape(len(tensor), -1) for part in parts)
    truth = tensor.reshape(seen.shape).astype(np.float64)
    problem = Problem(adjacency, np.where(seen, truth, 0.0), seen, None, 0, tensor.shape[1:], place, None)

    def error(values):
        return float(np.abs(values - truth)[hidden].mean())

    ours = {"weights": setting.weights, "exponent": setting.exponent, "center": setting.center}
    rows = [Standing(OURS, ours, error(completed.reshape(seen.shape)))]
    rows += [Standing(one.name, {}, error(filled(one, problem, {}))) for one in METHODS if one.suits(problem)]
    return sorted(rows, key=lambda row: row.error)
