"""Paired significance test of two models over users."""

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from gpukit.errors import DataError

NORMAL_95 = NormalDist().inv_cdf(0.975)  # quantile of a 95 % interval
FLIPS = 10_000
DRAWS = 200_000_000  # maximum random numbers of a test


class Difference(NamedTuple):
    """Mean of (ours - theirs) over users, its normal interval (NaN for one user), p, users.

    p: of the randomisation test.
    """

    mean: float
    low: float
    high: float
    p: float
    users: int


def compare(ours, theirs, seed=0, quantile=NORMAL_95):
    """Return the Difference of two metrics (users,) of the same users in order; quantile: of the normal interval.

    p: if the models were equal, each user's difference could have either sign. p is the fraction of FLIPS random
    choices of signs (fewer for many distinct differences) whose mean is at least as far from 0, the observed one
    included [Fisher's randomisation test; Smucker, Allan, Carterette, CIKM 2007]. For one user the interval is NaN.
    Raises DataError for other shapes or no users.
    """
    ours, theirs = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    if ours.shape != theirs.shape or ours.ndim != 1 or not len(ours):
        raise DataError(f"two values of each user are needed; got shapes {ours.shape} and {theirs.shape}.")
    change, n = ours - theirs, len(ours)
    mean, spread = float(change.mean()), quantile * float(change.std(ddof=1)) / n**0.5 if n > 1 else np.nan
    return Difference(mean, mean - spread, mean + spread, randomization_p_value(change, seed), n)


def randomization_p_value(change, seed):
    """Return p of differences (n,).

    Users with differences of equal size are flipped together: the number of positive ones is binomial.
    """
    sizes, counts = np.unique(np.abs(change[change != 0]), return_counts=True)
    flips = int(min(FLIPS, max(999, DRAWS // max(1, len(sizes)))))
    draw, sums = np.random.default_rng(seed), np.zeros(flips)
    for size, count in zip(sizes, counts):
        sums += size * (2 * draw.binomial(count, 0.5, flips) - count)
    is_reached = np.abs(sums) >= abs(change.sum()) - 1e-9 * max(1.0, float(sizes @ counts))
    return (1 + int(is_reached.sum())) / (1 + flips)
