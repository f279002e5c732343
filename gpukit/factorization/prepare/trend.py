"""Damped biases where ratings are few: the level they are shrunk to is fitted, and may follow how often a row is rated.

What few have rated is rated lower as a rule, and a row of few ratings is mostly what it is shrunk to. With n_j ratings
of row j and damping d,

    b_j = (sum(z - c - b_i) + d s x_j) / (n_j + d),    x_j = log(1 + n_j / 5)

and the same for the other side: ridge regressions, alternating, as in baseline.py, around a line. A side's level and
slope are those of the weighted line through its rows' means, a mean counting n_j d / (n_j + d), one over its variance
where biases spread by sigma^2 / d and ratings by sigma^2 (Gelman and Hill 2007, chapter 12: a group-level predictor);
s is a share of that slope, which whoever calls decides on. c, both levels together, is what a row without ratings is
predicted by, so it is put into the mean, and b_j of such a row is 0. Levels are free where the mean of all ratings is
not: there prolific users and popular items decide.
"""

from typing import NamedTuple

import numpy as np

from gpukit.factorization.baseline import DAMPING

SWEEPS = 6  # levels settle more slowly than biases around a mean that is given
MANY = 1e9  # a damping beside which every number of ratings is small
FLAT = 1e-9  # variance of x below which rows have nothing to tell them apart


class OrderedRows(NamedTuple):
    """One side's rows in order, as `sums` reads them: ratings.orders' starts, others, codes; weights of ratings or
    None; counts (rows,) float64 on the host: ratings of each, or what they weigh; damping; share of the slope."""

    read: tuple
    weights: object
    counts: np.ndarray
    damping: float
    share: float


def biases(orders, z, steps, damping, shares, weights=None):
    """(c, user biases (M,), item biases (N,)) float64 in z, on the host.

    z (256,) float32 on the device: of a level's number; damping, shares: of users, of items; weights: weights.Weighed.
    """
    sides = [side_of(orders, side, z, steps, damping[side], shares[side], weights) for side in (0, 1)]
    return settled(sides, z, steps, damped_means)


def settled(sides, z, steps, means_of):
    """`biases` of two Sides; means_of: `damped_means`, or what gives those of all ranks."""
    found, levels = [np.zeros(len(side.counts)) for side in sides], [0.0, 0.0]
    for _ in range(SWEEPS):
        for own, other in ((1, 0), (0, 1)):
            means = means_of(sides[own], z, found[other] + levels[other], sides[own].damping, steps)
            found[own], levels[own] = shrunk_to_line(means, sides[own])
    return sum(levels), *found


def side_of(orders, side, z, steps, damping, share, weights):
    """The OrderedRows of ratings in orders: 0 the users', 1 the items'."""
    order, rows = (orders.by_user, orders.by_item)[side], orders.shape[side]
    read = order.starts[: rows + 1], order.others, order.codes
    if weights is None:
        return OrderedRows(read, None, np.diff(steps.fetch(read[0])).astype(np.float64), damping, share)
    found = OrderedRows(read, weights[side], None, damping, share)
    ones = steps.resident(np.ones(len(z)), np.float32)
    parts = damped_means(found, ones, np.zeros(orders.shape[1 - side]), MANY, steps)  # n / (n + MANY)
    return found._replace(counts=MANY * parts / (1.0 - parts))


def damped_means(side, z, other, damping, steps):
    """(rows,) float64 on the host: sum(z - other side's bias) / (n + damping) of OrderedRows."""
    other = steps.resident(other, np.float64)
    own = steps.empty(len(side.read[0]) - 1, np.float64)
    if side.weights is None:
        steps.run("residual_means", *side.read, z, other, float(damping), own)
    else:
        steps.run("weighted_means", *side.read, z, side.weights, other, float(damping), own)
    return steps.fetch(own)


def shrunk_to_line(means, side):
    """(biases (rows,) above the level of a row without ratings, that level) of damped means (rows,)."""
    counts, damping = side.counts, side.damping
    sums, trust = means * (counts + damping), counts * damping / (counts + damping)
    x, total = np.log1p(counts / DAMPING), trust.sum()
    plain = sums / np.where(counts > 0, counts, 1.0)
    away = x - trust @ x / total
    spread = trust @ away**2
    slope = side.share * (trust @ (away * plain)) / spread if spread > FLAT * total else 0.0
    level = (trust @ plain - slope * (trust @ x)) / total
    return (sums - counts * level + damping * slope * x) / (counts + damping), level
