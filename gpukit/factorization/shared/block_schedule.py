"""Schedule of blocks of items over ranks, and the transfers between steps; the same on every rank."""

from typing import NamedTuple

import numpy as np

from gpukit.factorization.model.layout import major_first
from gpukit.factorization.solvers.rates import row_rates
from gpukit.factorization.solvers.sgd import schedule
from gpukit.random import bits

CURVATURE = 0.2  # of a row's squared error, as a share of the mean |p|^2 of the other side's factors; found by trial
SAMPLE = 1 << 16  # rows of the major side that estimate the length of factors
MOST = 100  # epochs with own paces; later rates are so small that the last paces serve for all
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
        moved = [(block, rank) for block, rank in ranks if next_ranks.get(block, rank) != rank]
        transfers.append([Move(block, rank, next_ranks[block]) for block, rank in moved])
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
    """Return CURVATURE g s of each row, (turns, rows) float32.

    The turns are the QUARTERS of the first epoch, then each later epoch up to MOST.

    counts: ratings of users, of items, of all ranks; first, exchanges: exchanges in the first epoch, in a later one, or
    (rows,) those of each row. Between two exchanges a row takes s steps at rate g. They bring it the fraction 1 -
    exp(-x) of the distance to the optimum of its own ratings, x = CURVATURE g s |p|^2, with |p|^2 the mean over the
    ratings of the other side's factors. The steps of R ranks in sequence would bring it the fraction 1 - exp(-R x) of
    the distance to the optimum of all ratings. The sum of all changes does so for small x. For large x only the mean
    does: the sum would overshoot, and diverge from three ranks on. change_weight of solvers/sgd/formulas.py is
    between both.
    """
    _, rows = major_first(walk, *counts)
    turns = [(0, (quarter + 0.5) / QUARTERS, first) for quarter in range(QUARTERS)]
    turns += [(epoch, epoch, exchanges) for epoch in range(1, min(settings.epochs, MOST))]
    result = []
    for epoch, passes, count in turns:
        rate = row_rates(settings.rates, settings.epoch_rates(epoch).factor, passes * rows)
        result.append(CURVATURE * rate * rows / (ranks * count))
    return np.array(result, np.float32)


def pace_index(epoch, quarter, count):
    """Return the turn of `paces` for a quarter of the first epoch or for a later epoch."""
    return min(epoch + QUARTERS - 1 if epoch else quarter, count - 1)


def sample_rows(parts, rank):
    """Return (counts (rows,) float32, every): ratings of a rank's users, 0 for others, and the step of the sample.

    The factors of each `every`-th row determine their mean length.
    """
    counts = np.where(parts.owner == rank, parts.counts[0], 0).astype(np.float32)
    return counts, max(1, len(counts) // SAMPLE)
