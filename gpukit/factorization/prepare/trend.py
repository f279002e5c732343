"""Damped biases around a fitted level that may depend on a row's number of ratings.

Items with few ratings have lower ratings on average, and the bias of a row with few ratings is close to the level that
it is shrunk to. With n_j ratings of row j and damping d,

    b_j = (sum(z - c - b_i) + d s x_j) / (n_j + d),    x_j = log(1 + n_j / 5)

and likewise for the other side: alternating ridge regressions, as in baseline.py, around a line. The level and the
slope of a side are those of the weighted line through the means of its rows. The weight of a mean is n_j d / (n_j + d),
the inverse of its variance if biases have variance sigma^2 / d and ratings sigma^2 (Gelman and Hill 2007, chapter 12: a
group-level predictor). s is a share of that slope, which the caller chooses. c, the sum of both levels, is the
prediction for rows without ratings. It is added to the mean, and b_j of such a row is 0. The mean of all ratings would
be dominated by prolific users and popular items.
"""

from typing import NamedTuple

import numpy as np

from gpukit.factorization.baseline import DAMPING

SWEEPS = 6  # levels converge more slowly than biases around a fixed mean


class OrderedRows(NamedTuple):
    """One side's rows in order, as input of the kernels of means.

    columns: starts, others and codes of ratings.orders; weights of the ratings or None; counts (rows,) float64, on the
    host: number or total weight of a row's ratings; damping; share: of the slope.
    """

    columns: tuple
    weights: object
    counts: np.ndarray
    damping: float
    share: float


def biases(orders, z, steps, damping, shares, weights=None, ranks=None):
    """Return (c, user biases (M,), item biases (N,)) float64 in z, on the host.

    z (256,) float32 on the device: z of each level; damping, shares: of users, of items; weights: OrderedWeights or
    None; ranks: shared.training_data.RankMeans or None.
    """
    sides = [side_of(orders, side, z, steps, damping[side], shares[side], weights) for side in (0, 1)]
    if ranks is not None:
        sides = [side._replace(counts=counts) for side, counts in zip(sides, ranks.counts)]
    biases, levels = [np.zeros(len(side.counts)) for side in sides], [0.0, 0.0]
    lines = [line_of(side) for side in sides]
    for _ in range(SWEEPS):
        for side, other in ((1, 0), (0, 1)):
            means = damped_means(sides[side], z, biases[other] + levels[other], damping[side], steps)
            if ranks is not None:
                means = ranks.combine(side, means, damping[side])
            biases[side], levels[side] = shrink_to_line(means, lines[side])
    return sum(levels), *biases


def side_of(orders, side, z, steps, damping, share, weights):
    """Return the OrderedRows of a side of ratings in orders (0: users, 1: items)."""
    many = 1e9  # a damping that exceeds every number of ratings by far
    order, rows = (orders.by_user, orders.by_item)[side], orders.shape[side]
    columns = order.starts[: rows + 1], order.others, order.codes
    if weights is None:
        counts = np.diff(steps.fetch(columns[0])).astype(np.float64)
        return OrderedRows(columns, None, counts, damping, share)
    result = OrderedRows(columns, weights[side], None, damping, share)
    ones = steps.resident(np.ones(len(z)), np.float32)
    parts = damped_means(result, ones, np.zeros(orders.shape[1 - side]), many, steps)  # n / (n + MANY)
    return result._replace(counts=many * parts / (1.0 - parts))


def damped_means(side, z, other, damping, steps):
    """Return sum(z - bias of the other side) / (n + damping) of OrderedRows, (rows,) float64 on the host."""
    other = steps.resident(other, np.float64)
    means = steps.empty(len(side.columns[0]) - 1, np.float64)
    if side.weights is None:
        steps.run("residual_means", *side.columns, z, other, float(damping), means)
    else:
        steps.run("weighted_means", *side.columns, z, side.weights, other, float(damping), means)
    return steps.fetch(means)


class Line(NamedTuple):
    """What does not change when the line of a side's OrderedRows is fitted again, (rows,) float64 each.

    own: n / (n + damping); undamped: the factor that makes a mean of a damped one; weights: of the means, whose sum is
    1; x; slopes: the undamped means times these add up to the share of the slope.
    """

    own: np.ndarray
    undamped: np.ndarray
    weights: np.ndarray
    x: np.ndarray
    slopes: np.ndarray


def line_of(side):
    """Return the Line of OrderedRows."""
    flat = 1e-9  # variance of x below which all rows count as equally often rated
    counts, x = side.counts, np.log1p(side.counts / DAMPING)
    own = counts / (counts + side.damping)
    weights = own / own.sum()
    centered = x - weights @ x
    slopes = weights * centered
    spread = slopes @ centered
    slopes *= side.share / spread if spread > flat else 0.0
    return Line(own, (counts + side.damping) / np.where(counts > 0, counts, 1.0), weights, x, slopes)


def shrink_to_line(means, line):
    """Return (biases (rows,) above the level, level) of damped means (rows,); the level is that of a row without
    ratings."""
    undamped = means * line.undamped
    slope = line.slopes @ undamped
    level = line.weights @ undamped - slope * (line.weights @ line.x)
    return means - line.own * level + (1.0 - line.own) * (slope * line.x), level
