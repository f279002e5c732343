"""Which users are whose, and which items make a block: the same on every rank, of the counts of all ratings."""

from typing import NamedTuple

import numpy as np

from gpukit.errors import DataError
from gpukit.factorization.model.layout import major_first
from gpukit.factorization.prepare.conflict_free_blocks import assign_blocks
from gpukit.factorization.shared.block_schedule import Copies, Ring, Strata
from gpukit.factorization.solvers.sgd import schedule

A_RANK = {"users": 0, "items": 1}  # blocks for each rank; 0: none, every rank has a copy of all rows


class Parts(NamedTuple):
    """owner (M,) int32: the rank of each user; counts ((M,), (N,)): ratings of users, of items; block (N,) int32 of
    each item; seats: BlockAssignment of a training in strata, else None;
    schedule: block_schedule.Ring, Strata or Copies."""

    owner: np.ndarray
    counts: tuple
    block: np.ndarray
    seats: object
    schedule: object

    @property
    def blocks(self):
        """How many blocks of items there are."""
        return int(self.block.max()) + 1

    def rows(self, block):
        """The items of a block, rising."""
        return np.flatnonzero(self.block == block)

    def order_of_minor(self, walk):
        """(rows,) uint32: how a GPU stores the rows of items that are not walked, the same on all ranks: those of
        a block by themselves fall evenly on its cache (training_data.minor_places);
        None for users, each rank's its own."""
        if walk == "items":
            return None
        return np.lexsort((-self.counts[1], self.block)).astype(np.uint32)

    def users_of(self, rank):
        """The users of a rank, rising."""
        return np.flatnonzero(self.owner == rank)


def parts_of(ratings, size, way, steps):
    """The Parts of Ratings for `size` ranks and PreparationOptions; steps: prepare.cpu or prepare.gpu. DataError where
    a rank would have no ratings or no block of items, but in strata: there ranks beyond the blocks have none."""
    counts = tuple(np.bincount(rows, minlength=n) for rows, n in zip((ratings.users, ratings.items), ratings.shape))
    dealing = in_strata if way.deterministic else in_ring if A_RANK[way.walk] else in_copies
    parts = dealing(counts, size, way, steps)
    idle = parts.seats is None and min(np.bincount(parts.owner, parts.counts[0], size)) == 0
    if idle or (isinstance(parts.schedule, Ring) and len(counts[1]) < parts.schedule.blocks):
        raise DataError(
            f"{len(ratings):,} ratings of {ratings.shape[0]:,} users and {ratings.shape[1]:,} items are too few to be "
            f"shared out to {size} ranks: use fewer --ranks (--gpus), or one."
        )
    return parts


def in_ring(counts, size, way, steps):
    """Parts whose blocks go round a ring."""
    users, items = counts
    apart = max(1, min(A_RANK[way.walk], len(items) // size))
    owner, block = (schedule.dealt(*side, way.seed)[0] for side in ((users, size), (items, apart * size)))
    return Parts(owner, counts, block, None, Ring(size, apart * size))


def in_copies(counts, size, way, steps):
    """Parts of users alone."""
    users, items = counts
    owner, _ = schedule.dealt(users, size, way.seed)
    return Parts(owner, counts, np.zeros(len(items), np.int32), None, Copies(size))


def in_strata(counts, size, way, steps):
    """Parts by the blocks that a training which gives one result has without ranks; where ranks are more, some own none
    and walk nothing."""
    major, minor = major_first(way.walk, *counts)
    blocks = schedule.block_count(int(major.sum()), (len(major), len(minor)), steps.GRAIN, steps.MOST_BLOCKS)
    seats = assign_blocks(major, minor, blocks, way.seed)
    of_users, of_items = major_first(way.walk, seats.seat // seats.turns, seats.block)
    owners = np.arange(blocks) * size // blocks
    block_schedule = Strata(tuple(map(int, owners)), way.walk == "users", way.seed)
    return Parts(owners[of_users].astype(np.int32), counts, of_items, seats, block_schedule)
