"""Means over the ratings of all ranks; chunk tables of a rank."""

from typing import NamedTuple

import numpy as np

from gpukit.factorization.baseline import moments
from gpukit.factorization.model.layout import major_first
from gpukit.factorization.prepare.training_data import scale_from, scale_of
from gpukit.factorization.shared.block_schedule import Copies, Lap
from gpukit.factorization.solvers.rates import row_rates
from gpukit.factorization.solvers.sgd import schedule
from gpukit.factorization.solvers.sgd.chunk_table import cut_table
from gpukit.ratings.parts import RatingsPart, over_ranks

LAPS = tuple(share / 8 for share in range(9))  # bounds of the rounds of the blocks in the first epoch


class RankMeans(NamedTuple):
    """Means over the ratings of all ranks of a Team.

    counts, own: ratings of the users (M,) and of the items (N,) on all ranks, and on this one.
    """

    counts: tuple
    own: tuple
    team: object

    def combine(self, side, means, damping):
        """Return damped means (rows,) float64 of all ratings from those of each rank; side: 0 users, 1 items."""
        own = self.own[side]
        sums = self.team.allreduce(np.where(own > 0, means * (own + damping), 0.0))
        return sums / np.maximum(self.counts[side] + damping, np.finfo(np.float64).tiny)


def scale_over_ranks(orders, ratings):
    """Return the Scale of Ratings or of a RatingsPart, whose ratings on this rank are in orders.

    Of ratings with many different values the moments of a RatingsPart differ from those of Ratings by rounding.
    """
    if orders.levels.exact or not isinstance(ratings, RatingsPart):
        return scale_of(orders, ratings.values)
    own, n = moments(ratings.values), len(ratings.values)
    sums = over_ranks(ratings, np.array([n * own[0], n * (own[1] ** 2 + own[0] ** 2)])) / len(ratings)
    return scale_from(sums[0], np.sqrt(max(0.0, sums[1] - sums[0] ** 2)), *ratings.scale)


def rank_means(orders, parts, team):
    """Return the RankMeans of a rank's ratings in orders and parts.Parts."""
    sides = zip((orders.by_user, orders.by_item), orders.shape)
    return RankMeans(parts.counts, tuple(np.diff(order.indptr[: rows + 1]) for order, rows in sides), team)


def chunk_tables(side, parts, options, plan, layout, steps, own_steps):
    """Return (chunk tables of the blocks or strata, workers, Laps of the first epoch) of a rank.

    steps: cpu.py or gpu.py of the factorization; own_steps: those of this package.
    """
    if side.strata is not None:
        return side.strata, len(side.strata), [Lap(0.0, 1.0, len(side.strata))]
    rates = row_rates(plan.rates, plan.learning_rate, major_first(options.walk, *parts.counts)[0])
    n, counts, copied = len(side.minor), np.diff(side.indptr), isinstance(parts.schedule, Copies)
    most = own_steps.most_copy_workers(layout) if copied else steps.most_workers(layout)
    most = schedule.worker_count(n, most, layout.slots > 0)
    first, workers = bound_workers(most, parts, options.walk, plan)
    if copied:
        first, workers = match_workers(first, workers)
        pace = schedule.Pace(workers, rates, whole=schedule.whole_rows(n, workers, own_steps.PARTS))
        table = cut_table(counts, side.starts, pace, plan.seed, steps.chunking, own_steps.PARTS)
        return [table], workers, [Lap(0.0, 1.0, first)]
    pace, blocks = schedule.Pace(workers, rates), [counts * (parts.block == block) for block in range(parts.blocks)]
    tables = [cut_table(block, side.starts, pace, plan.seed, steps.chunking) for block in blocks]
    return tables, workers, [Lap(*ends, workers if ends[0] else first) for ends in zip(LAPS, LAPS[1:])]


def match_workers(first, workers):
    """Return (workers of the first epoch, of later ones) that share the chunks evenly.

    The first epoch uses all later workers or a divisor of them. With another number, some would get twice the chunks of
    others, and all would wait. Up to one worker in four is given up for that.
    """
    quarter = workers // 4
    if first >= workers - quarter:
        return first, first
    times, quad = -(-workers // first), schedule.QUAD
    first = workers // times if workers < times * quad else workers // (times * quad) * quad
    return first, first * times


def bound_workers(most, parts, walk, plan):
    """Return (workers of the first epoch, of later ones), bounded by the staleness of minor rows.

    If items are the major side, a user on one of R ranks has R times its share of the ratings. Steps of the
    first epoch start at the learning rate, later ones have the rate of the row. Two ranks with copies of a row may take
    twice this staleness together, since changes are exchanged often enough. More than two take no more concurrent steps
    in the first epoch than one GPU: with four times as many, four H200s diverged.
    """
    counts = major_first(walk, *parts.counts)[1]
    concentration = 1 if walk == "users" else parts.schedule.ranks
    copies = parts.schedule.ranks if isinstance(parts.schedule, Copies) and parts.schedule.ranks > 2 else 1
    shares = concentration * counts / counts.sum()
    at_start = copies * shares.max() * plan.learning_rate
    later = (shares * row_rates(plan.rates, plan.learning_rate, counts)).max()
    start = 9.0  # staleness at the full learning rate: of one H200 at Netflix shape; twice that increases errors
    bounds = (start / at_start, schedule.STALENESS / later)
    limits = (int(max(1, min(most, bound))) for bound in bounds)
    first, workers = (n if n <= schedule.QUAD else n // schedule.QUAD * schedule.QUAD for n in limits)
    return min(first, workers), workers
