"""How well the baselines do on the values that choosing hides, beside the imputation."""

from typing import NamedTuple

import numpy as np

from gpukit.imputation import holdout
from gpukit.imputation.baselines.smoothing import all_baselines
from gpukit.imputation.centering import spread
from gpukit.imputation.choose import reduced, splits
from gpukit.imputation.spectral.run import impute

OURS = "imputation"
NUMBERS = 1 << 18  # of the columns that baselines are judged on; every entry of a slice is a column by itself


class Sample(NamedTuple):
    """What methods are compared on: tensor (N, m, n), 0 where missing, its mask, and parts (holdout.Split) of that."""

    tensor: np.ndarray
    mask: np.ndarray
    parts: holdout.Split


class Standing(NamedTuple):
    """name: 'imputation' or a baseline's; setting: a dict, of a baseline the best of its grid; error: the mean absolute
    error on the hidden values."""

    name: str
    setting: dict
    error: float


def sample_of(tensor, mask, seed, share=None):
    """A Sample of a tensor (N, m, n), 0 where missing, and its mask (N,) or (N, m, n): of a large tensor some rows and
    columns of the slices. share: how much of what is observed is hidden, as holdout.split does it; None: the first of
    choosing's splits. Raises DataError when too little is observed to hide any."""
    tensor, mask = reduced(tensor, mask, seed)
    return Sample(tensor, mask, splits(mask, seed)[0] if share is None else holdout.split(mask, share, seed))


class Comparison(NamedTuple):
    """rows: a Standing for the imputation and for each baseline at its best setting, the least error first; estimate:
    the imputation's of what parts.kept of the Sample leaves out, as run.Outcome has it."""

    rows: list
    estimate: np.ndarray


def compare(adjacency, place, setting, sample, seed):
    """A Comparison of the imputation and the baselines.

    adjacency: checked, csr (N, N). place, setting: run.Place and Setting without 'auto'. sample: a Sample. seed: of
    which entries count. All are judged on the same hidden values: of large slices on those of some entries.
    """
    tensor, mask, parts = sample
    columns = some_columns(tensor, seed)
    estimate = impute(place, setting, tensor, mask, parts.hidden).estimate
    judge = HiddenError(tensor, parts, columns)
    ours = {"weights": setting.weights, "exponent": setting.exponent, "center": setting.center}
    rows = [Standing(OURS, ours, judge(columns_of(completed(tensor, parts, estimate), columns)))]
    sample, kept = columns_of(tensor, columns), columns_of(parts.kept, columns)
    rows += best_rows(Standing(name, how, judge(out)) for name, how, out in all_baselines(adjacency, sample, kept))
    return Comparison(sorted(rows, key=lambda row: row.error), estimate)


class HiddenError:
    """The mean absolute error of a completed tensor (N, 1, columns) on what is hidden."""

    def __init__(self, tensor, parts, columns):
        self.truth, self.hidden = columns_of(tensor, columns), columns_of(spread_over(parts.hidden, tensor), columns)

    def __call__(self, completed):
        return float(np.abs(completed - self.truth)[self.hidden].mean(dtype=np.float64))


def some_columns(tensor, seed):
    """Which of the m n entries of a slice the baselines are judged on, ascending."""
    entries = tensor[0].size
    return np.sort(np.random.default_rng(seed).permutation(entries)[: max(1, NUMBERS // len(tensor))])


def columns_of(array, columns):
    """(N, 1, columns) of (N, m, n); a mask (N,) stays."""
    return array if array.ndim == 1 else array.reshape(len(array), 1, -1)[..., columns]


def spread_over(mask, tensor):
    """The mask of every entry."""
    return np.broadcast_to(spread(mask), tensor.shape)


def completed(tensor, parts, estimate):
    """The tensor with the estimate where something is missing or hidden."""
    out = tensor.copy()
    out[~parts.kept] = estimate
    return out


def best_rows(rows):
    """Of each name the row with the least error."""
    best = {}
    for row in rows:
        if row.name not in best or row.error < best[row.name].error:
            best[row.name] = row
    return list(best.values())
