"""Who walks which block of items when, and where blocks go in between. Plain numbers, the same on every rank."""

from typing import NamedTuple

from gpukit.factorization.solvers.sgd import schedule
from gpukit.random import bits


class Stop(NamedTuple):
    """A step of an epoch: walkers {block: rank}; tables {rank: which of its chunk tables it walks}, without ranks that
    walk nothing."""

    walkers: dict
    tables: dict


class Lap(NamedTuple):
    """A time that blocks go round: from which share of their ratings on, up to which, by how many workers."""

    low: float
    high: float
    workers: int


class Move(NamedTuple):
    """A block that goes from the rank that has walked it to the one that walks it next."""

    block: int
    source: int
    target: int


class Ring(NamedTuple):
    """B blocks in a ring, B a multiple of the ranks: at step t rank r walks block r B / R + t."""

    ranks: int
    blocks: int

    def stops(self, epoch):
        """The Stops of an epoch, which are those of all others: each rank walks each block once."""
        apart = self.blocks // self.ranks
        own = [{rank: (rank * apart + step) % self.blocks for rank in range(self.ranks)} for step in range(self.blocks)]
        return [Stop({block: rank for rank, block in tables.items()}, tables) for tables in own]


class Copies(NamedTuple):
    """No blocks: every rank walks its ratings at one go, over a copy of all rows (training.Copied)."""

    ranks: int


class Strata(NamedTuple):
    """The strata of a training that gives one result: owners (B,): the rank that has each block of users; by_users:
    whether users are the side that is walked, whose block b meets block b + s of the other in stratum s."""

    owners: tuple
    by_users: bool
    seed: int

    def stops(self, epoch):
        """The Stops of an epoch, whose strata come in an order of its own."""
        turn, count = schedule.turn_key(self.seed, epoch), len(self.owners)
        return [self._stratum(s) for s in sorted(range(count), key=lambda s: bits(~turn, s))]

    def _stratum(self, s):
        sign, count = (-1 if self.by_users else 1), len(self.owners)
        walkers = {block: self.owners[(block + sign * s) % count] for block in range(count)}
        return Stop(walkers, dict.fromkeys(set(self.owners), s))


def travels(stops, later):
    """[[Move]] after each of an epoch's Stops, to be made at once: `later` are the Stops of the next one."""
    coming, journeys = {}, []
    for stop in reversed([*stops, *later]):
        journeys.append(
            [
                Move(block, rank, coming[block])
                for block, rank in sorted(stop.walkers.items())
                if coming.get(block, rank) != rank
            ]
        )
        coming.update(stop.walkers)
    return journeys[::-1][: len(stops)]


def part_of(table, lap):
    """The rows of a chunk table that are walked in a Lap, whole quads."""
    quads = table.shape[0] // schedule.QUAD
    low, high = (schedule.QUAD * int(share * quads) for share in (lap.low, lap.high))
    return table if (lap.low, lap.high) == (0.0, 1.0) else table[low:high]


def in_parts(table, parts, workers):
    """A chunk table in parts one behind the other, whole quads."""
    bounds = [part / parts for part in range(parts + 1)]
    return [part_of(table, Lap(low, high, workers)) for low, high in zip(bounds, bounds[1:])]
