"""Comparison of the imputation with the baselines on hidden values."""

from typing import NamedTuple

import numpy as np

from gpukit.imputation.centering import spread
from gpukit.imputation.smoothing import all_baselines
from gpukit.imputation.spectral import holdout
from gpukit.imputation.spectral.choose import reduced, splits
from gpukit.imputation.spectral.run import impute

OURS = "imputation"
NUMBERS = 1 << 18  # of the sampled columns; every entry of a slice is a column


class Sample(NamedTuple):
    """Data of a comparison: tensor (N, m, n), 0 where missing, its mask, and parts (holdout.Split)."""

    tensor: np.ndarray
    mask: np.ndarray
    parts: holdout.Split


class Standing(NamedTuple):
    """Result of a method on hidden values.

    name: 'imputation' or a baseline's; setting: a dict, for a baseline the best of its grid; error: the mean absolute
    error on the hidden values.
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


class Comparison(NamedTuple):
    """rows: a Standing for the imputation and each baseline, the least error first.

    estimate: the imputation's estimate of values outside parts.observed of the Sample, see run.Outcome.
    """

    rows: list
    estimate: np.ndarray


def compare(adjacency, place, setting, sample, seed):
    """Return a Comparison of the imputation and the baselines.

    adjacency: checked, csr (N, N). place, setting: run.Place and Setting without 'auto'. sample: a Sample. seed: of the
    sampled entries. All methods are judged on the same hidden values, for large slices on those of some entries.
    """
    tensor, mask, parts = sample
    columns = sample_columns(tensor, seed)
    estimate = impute(place, setting, tensor, mask, parts.hidden).estimate
    judge = HiddenError(tensor, parts, columns)
    ours = {"weights": setting.weights, "exponent": setting.exponent, "center": setting.center}
    rows = [Standing(OURS, ours, judge(select_columns(completed(tensor, parts, estimate), columns)))]
    sample, observed = select_columns(tensor, columns), select_columns(parts.observed, columns)
    rows += select_best_rows(
        Standing(name, how, judge(out)) for name, how, out in all_baselines(adjacency, sample, observed)
    )
    return Comparison(sorted(rows, key=lambda row: row.error), estimate)


class HiddenError:
    """Mean absolute error of a completed tensor on hidden values.

    The tensor is (N, 1, columns).
    """

    def __init__(self, tensor, parts, columns):
        self.truth, self.hidden = (
            select_columns(tensor, columns),
            select_columns(mask_of_entries(parts.hidden, tensor), columns),
        )

    def __call__(self, completed):
        return float(np.abs(completed - self.truth)[self.hidden].mean(dtype=np.float64))


def sample_columns(tensor, seed):
    """Return the entries of a slice on which baselines are judged, ascending."""
    entries = tensor[0].size
    return np.sort(np.random.default_rng(seed).permutation(entries)[: max(1, NUMBERS // len(tensor))])


def select_columns(array, columns):
    """Return (N, 1, columns) of (N, m, n); a mask (N,) is unchanged."""
    return array if array.ndim == 1 else array.reshape(len(array), 1, -1)[..., columns]


def mask_of_entries(mask, tensor):
    """Return the mask of every entry."""
    return np.broadcast_to(spread(mask), tensor.shape)


def completed(tensor, parts, estimate):
    """Return the tensor with the estimate where values are missing or hidden."""
    out = tensor.copy()
    out[~parts.observed] = estimate
    return out


def select_best_rows(rows):
    """Return the row with the least error of each name."""
    best = {}
    for row in rows:
        if row.name not in best or row.error < best[row.name].error:
            best[row.name] = row
    return list(best.values())
