"""Schedule of blocks of items over ranks, and the transfers between steps; the same on every rank.

Partition of users over ranks and of items into blocks, computed by every rank from the counts of all ratings.

Means over the ratings of all ranks; chunk tables of a rank.
"""

from typing import NamedTuple

import numpy as np

from gpukit.device.engine import engine
from gpukit.errors import DataError
from gpukit.factorization.constants import RULES
from gpukit.factorization.model.layout import major_first
from gpukit.factorization.prepare.training_data import assign_blocks, moments_of_values, scale_from, scale_of
from gpukit.factorization.solvers.rates import row_rates
from gpukit.factorization.solvers.sgd import schedule
from gpukit.factorization.solvers.sgd.schedule import cut_table
from gpukit.random import bits
from gpukit.ratings.parts import RatingsPart, count_rows, reduce_over_ranks

QUARTERS = 4  # of the first epoch, in which factors grow and rates fall


class ScheduleStep(NamedTuple):
    """A step of an epoch: block_ranks {block: rank}; tables {rank: number of its chunk table}, without idle ranks."""

    block_ranks: dict
    tables: dict


class Lap(NamedTuple):
    """A round of the blocks: first and last share of their ratings, number of workers."""

    low: float
    high: float
    workers: int


class Move(NamedTuple):
    """Transfer of a block from the rank that processed it to the rank that processes it next."""

    block: int
    source: int
    target: int


class Ring(NamedTuple):
    """A block for each rank, in a ring: at step t rank r processes block r + t."""

    ranks: int

    def steps(self, epoch):
        """Return the ScheduleSteps of any epoch: each rank processes each block once."""
        ranks = range(self.ranks)
        all_tables = [{rank: (rank + step) % self.ranks for rank in ranks} for step in ranks]
        return [ScheduleStep({block: rank for rank, block in tables.items()}, tables) for tables in all_tables]


class Copies(NamedTuple):
    """No blocks: every rank processes all its ratings on a copy of all rows (training.Copied)."""

    ranks: int


class Strata(NamedTuple):
    """Strata of a deterministic training.

    owners (B,): rank of each block of users; by_users: True if users are the major side, whose block b is paired with
    block b + s of the other side in stratum s.
    """

    owners: tuple
    by_users: bool
    seed: int

    def steps(self, epoch):
        """Return the ScheduleSteps of an epoch, whose strata are in an order of its own."""
        turn, count = schedule.turn_key(self.seed, epoch), len(self.owners)
        return [self._stratum(s) for s in sorted(range(count), key=lambda s: bits(~turn, s))]

    def _stratum(self, s):
        sign, count = (-1 if self.by_users else 1), len(self.owners)
        block_ranks = {block: self.owners[(block + sign * s) % count] for block in range(count)}
        return ScheduleStep(block_ranks, dict.fromkeys(set(self.owners), s))


def plan_moves(steps, later):
    """Return the Moves after each of an epoch's ScheduleSteps; later: the steps of the next epoch."""
    next_ranks, transfers = {}, []
    for step in reversed([*steps, *later]):
        ranks = sorted(step.block_ranks.items())
        moves = [(block, rank) for block, rank in ranks if next_ranks.get(block, rank) != rank]
        transfers.append([Move(block, rank, next_ranks[block]) for block, rank in moves])
        next_ranks.update(step.block_ranks)
    return transfers[::-1][: len(steps)]


def part_of(table, lap):
    """Return the rows of a chunk table in a Lap, whole quads."""
    quads = table.shape[0] // schedule.QUAD
    low, high = (schedule.QUAD * int(share * quads) for share in (lap.low, lap.high))
    return table if (lap.low, lap.high) == (0.0, 1.0) else table[low:high]


def in_parts(table, parts, workers):
    """Split a chunk table into consecutive parts of whole quads."""
    bounds = [part / parts for part in range(parts + 1)]
    return [part_of(table, Lap(low, high, workers)) for low, high in zip(bounds, bounds[1:])]


def paces(settings, walk, counts, ranks, first, exchanges):
    """Return curvature g s of each row, (turns, rows) float32.

    The turns are the QUARTERS of the first epoch, then each later epoch up to paced_epochs.

    counts: ratings of users, of items, of all ranks; first, exchanges: exchanges in the first epoch, in a later one, or
    (rows,) those of each row. Between two exchanges a row takes s steps at rate g. They bring it the fraction 1 -
    exp(-x) of the distance to the optimum of its own ratings, x = curvature g s |p|^2, with |p|^2 the mean over the
    ratings of the other side's factors. The steps of R ranks in sequence would bring it the fraction 1 - exp(-R x) of
    the distance to the optimum of all ratings. The sum of all changes does so for small x. For large x only the mean
    does: the sum would overshoot, and diverge from three ranks on. change_weight of solvers/sgd/formulas.py is
    between both.
    """
    _, rows = major_first(walk, *counts)
    turns = [(0, (quarter + 0.5) / QUARTERS, first) for quarter in range(QUARTERS)]
    turns += [(epoch, epoch, exchanges) for epoch in range(1, min(settings.epochs, RULES.paced_epochs))]
    result = []
    for epoch, passes, count in turns:
        rate = row_rates(settings.rates, settings.epoch_rates(epoch).factor, passes * rows)
        result.append(RULES.curvature * rate * rows / (ranks * count))
    return np.array(result, np.float32)


def pace_index(epoch, quarter, count):
    """Return the turn of `paces` for a quarter of the first epoch or for a later epoch."""
    return min(epoch + QUARTERS - 1 if epoch else quarter, count - 1)


def sample_rows(parts, rank):
    """Return (counts (rows,) float32, every): ratings of a rank's users, and the step of the sample.

    The factors of each `every`-th row of a rank determine their mean length.
    """
    return parts.counts[0][parts.users_of(rank)].astype(np.float32), max(1, len(parts.owner) // RULES.factor_sample)


class Parts(NamedTuple):
    """Partition of users and items.

    owner (M,) int32: rank of each user; counts ((M,), (N,)): ratings of users, of items; block (N,) int32 of each item;
    assignment: BlockAssignment of training in strata, else None; schedule: partition.Ring, Strata or Copies.
    """

    owner: np.ndarray
    counts: tuple
    block: np.ndarray
    assignment: object
    schedule: object

    @property
    def blocks(self):
        """Number of blocks of items."""
        return int(self.block.max()) + 1

    def rows(self, block):
        """Return the items of a block in ascending order."""
        return np.flatnonzero(self.block == block)

    def order_of_minor(self, walk):
        """Return the storage order of the items, by popularity, (rows,) uint32; None if they are the major side."""
        return None if walk == "items" else np.argsort(-self.counts[1], kind="stable").astype(np.uint32)

    def users_of(self, rank):
        """Return the users of a rank in ascending order, which is that of its rows."""
        return np.flatnonzero(self.owner == rank)

    def rows_on(self, rank):
        """Return the row on a rank of each of its users, (M + 1,) int32; the last is that of unknown users."""
        return np.cumsum(np.append(self.owner == rank, True), dtype=np.int32) - np.int32(1)

    def assignment_on(self, rank, walk):
        """Return the BlockAssignment of the rows of a rank; None without strata."""
        if self.assignment is None:
            return None
        name = "seat" if walk == "users" else "block"
        return self.assignment._replace(**{name: getattr(self.assignment, name)[self.users_of(rank)]})


def parts_of(ratings, size, options, steps):
    """Return the Parts of Ratings for `size` ranks.

    options: PreparationOptions; steps: of the factorization. Raises DataError if a rank has no ratings or no
    block of items. In strata, ranks beyond the number of blocks may have none.
    """
    counts = count_rows(ratings)
    if options.deterministic:
        parts = strata_parts(counts, size, options, steps)
    elif options.walk == "items":
        parts = ring_parts(counts, size, options)
    else:
        parts = copied_parts(counts, size, options)
    idle = parts.assignment is None and min(np.bincount(parts.owner, parts.counts[0], size)) == 0
    if idle or (isinstance(parts.schedule, Ring) and len(counts[1]) < size):
        raise DataError(
            f"{len(ratings):,} ratings of {ratings.shape[0]:,} users and {ratings.shape[1]:,} items are too few for "
            f"{size} ranks. Use fewer --ranks (--gpus), or one."
        )
    return parts


def ring_parts(counts, size, options):
    """Return the Parts of blocks of items in a ring, one per rank."""
    owner, block = (schedule.deal_rows(side, size, options.seed)[0] for side in counts)
    return Parts(owner, counts, block, None, Ring(size))


def copied_parts(counts, size, options):
    """Return the Parts of users, with a copy of all items on each rank."""
    users, items = counts
    owner, _ = schedule.deal_rows(users, size, options.seed)
    return Parts(owner, counts, np.zeros(len(items), np.int32), None, Copies(size))


def strata_parts(counts, size, options, steps):
    """Return the Parts by the blocks of a deterministic training without ranks.

    Ranks beyond the number of blocks have no block and no ratings.
    """
    major, minor = major_first(options.walk, *counts)
    blocks = schedule.block_count(int(major.sum()), (len(major), len(minor)), steps.GRAIN, steps.MOST_BLOCKS)
    assignment = assign_blocks(major, minor, blocks, options.seed)
    of_users, of_items = major_first(options.walk, assignment.seat // assignment.turns, assignment.block)
    owners = np.arange(blocks) * size // blocks
    block_schedule = Strata(tuple(map(int, owners)), options.walk == "users", options.seed)
    return Parts(owners[of_users].astype(np.int32), counts, of_items, assignment, block_schedule)


def tables_of_items(session):
    """Return the parameter tables of a DeviceModel whose rows are items'."""
    parameters = session.parameters
    if session.walk == "users":
        return (parameters.Q,)
    return (parameters.P, parameters.influence) if session.layout.slots else (parameters.P,)


class Share:
    """Share of a rank in the rows of both sides (0: users, 1: items); every rank has all ratings and rows.

    A row does not depend on the partition, so models are bit-identical for any number of ranks.
    """

    def __init__(self, counts, n_factors, team, device):
        self.rank, self.spans = team.rank, [spans_of(side, n_factors, team.size) for side in counts]
        self.row_gather = engine(device, __package__).RowGather(team, device)

    def span(self, side):
        """Return (first, last + 1) of the rows to solve for."""
        return self.spans[side][self.rank]

    def exchange(self, side, table):
        """Wait until all rows of a side's table are available."""
        self.row_gather.gather(table, self.spans[side])


def share_of(ratings, n_factors, team, device):
    """Return the Share of a rank of a Team in solving for rows of F factors; None for a single process."""
    if team.size == 1:
        return None
    return Share(count_rows(ratings), n_factors, team, device)


def spans_of(counts, n_factors, size):
    """Return [(first, last + 1)] of each rank's rows, with about equal computation.

    A rating costs F^2 / 2 multiplications; a solution F^3 / 6, or F^2 for each step of conjugate gradients.
    """
    before = np.append(0.0, np.cumsum(np.where(counts > 0, counts + n_factors / 2.0, 0.0)))
    cuts = np.searchsorted(before, before[-1] * np.arange(1, size) / size)
    bounds = [0, *map(int, cuts), len(counts)]
    return list(zip(bounds, bounds[1:]))


LAPS = tuple(share / 8 for share in range(9))  # bounds of the rounds of the blocks in the first epoch


class RankMeans(NamedTuple):
    """Means over the ratings of all ranks of a Team.

    counts: ratings of the users (M,) and of the items (N,) on all ranks; own (N,): of the items on this one; parts:
    Parts; team.
    """

    counts: tuple
    own: np.ndarray
    parts: object
    team: object

    @property
    def users(self):
        """Users of this rank in ascending order."""
        return self.parts.users_of(self.team.rank)

    @property
    def numbers(self):
        """Number of each row of a user on this rank, (rows + 1,) uint32; the last is that of unknown users."""
        return np.append(self.users, len(self.parts.owner)).astype(np.uint32)

    def combine(self, side, means, damping):
        """Return damped means float64 of all ratings from those of each rank.

        side: 0 for the means of each rank's users, which become those of all users, 1 for those of all items.
        """
        if side == 0:
            whole = np.empty(len(self.parts.owner))
            for rank, part in enumerate(self.team.allgather(means)):
                whole[self.parts.users_of(rank)] = part
            return whole
        sums = self.team.allreduce(np.where(self.own > 0, means * (self.own + damping), 0.0))
        return sums / np.maximum(self.counts[1] + damping, np.finfo(np.float64).tiny)


def scale_over_ranks(orders, ratings):
    """Return the Scale of Ratings or of a RatingsPart, whose ratings on this rank are in orders.

    Of ratings with many different values the moments of a RatingsPart differ from those of Ratings by rounding.
    """
    if orders.levels.exact:
        return scale_of(orders, None)
    if not isinstance(ratings, RatingsPart):
        return scale_of(orders, ratings.values)
    moments, n = moments_of_values(ratings.values), len(ratings.values)
    sums = reduce_over_ranks(ratings, np.array([n * moments[0], n * (moments[1] ** 2 + moments[0] ** 2)])) / len(
        ratings
    )
    return scale_from(sums[0], np.sqrt(max(0.0, sums[1] - sums[0] ** 2)), *ratings.scale)


def rank_means(orders, parts, team):
    """Return the RankMeans of a rank's ratings in orders and parts.Parts."""
    return RankMeans(parts.counts, np.diff(orders.by_item.indptr[: orders.shape[1] + 1]), parts, team)


def chunk_tables(side, parts, options, plan, layout, steps, own_steps):
    """Return (chunk tables of the blocks or strata, workers, Laps of the first epoch) of a rank.

    steps: cpu.py or gpu.py of the factorization; own_steps: those of this package.
    """
    if side.strata is not None:
        return side.strata, len(side.strata), [Lap(0.0, 1.0, len(side.strata))]
    n, counts, copied = len(side.minor), np.diff(side.indptr), isinstance(parts.schedule, Copies)
    rates = row_rates(plan.rates, plan.learning_rate, counts if options.walk == "users" else parts.counts[1])
    most = own_steps.most_copy_workers(layout) if copied else steps.most_workers(layout)
    most = schedule.worker_count(n, most, layout.slots > 0)
    first, workers = bound_workers(most, parts, options.walk, plan)
    if copied:
        first, workers = match_workers(first, workers)
        pace = schedule.Pace(workers, rates, whole=schedule.whole_rows(n, workers, own_steps.PARTS))
        table = cut_table(counts, side.starts, pace, plan.seed, steps, own_steps.PARTS)
        return [table], workers, [Lap(0.0, 1.0, first)]
    pace, blocks = schedule.Pace(workers, rates), [counts * (parts.block == block) for block in range(parts.blocks)]
    tables = [cut_table(block, side.starts, pace, plan.seed, steps) for block in blocks]
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
