"""Partition of users over ranks and of items into blocks, computed by every rank from the counts of all ratings."""

from typing import NamedTuple

import numpy as np

from gpukit.device.engine import engine
from gpukit.errors import DataError
from gpukit.factorization.model.layout import major_first
from gpukit.factorization.prepare.conflict_free_blocks import assign_blocks
from gpukit.factorization.shared.block_schedule import Copies, Ring, Strata
from gpukit.factorization.solvers import WHOLE
from gpukit.factorization.solvers.sgd import schedule
from gpukit.ratings.parts import count_rows


class Parts(NamedTuple):
    """Partition of users and items.

    owner (M,) int32: rank of each user; counts ((M,), (N,)): ratings of users, of items; block (N,) int32 of each item;
    assignment: BlockAssignment of training in strata, else None; schedule: block_schedule.Ring, Strata or Copies.
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
        """Return the users of a rank in ascending order."""
        return np.flatnonzero(self.owner == rank)


def parts_of(ratings, size, options, steps):
    """Return the Parts of Ratings for `size` ranks.

    options: PreparationOptions; steps: prepare.cpu or prepare.gpu. Raises DataError if a rank has no ratings or no
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
    """See solvers.Whole. Every rank has all ratings and the rows of both sides.

    A row does not depend on the partition, so models are bit-identical for any number of ranks.
    """

    def __init__(self, counts, n_factors, team, device):
        self.rank, self.spans = team.rank, [spans_of(side, n_factors, team.size) for side in counts]
        self.row_gather = engine(device, __package__).RowGather(team, device)

    def span(self, side):
        """See solvers.Whole."""
        return self.spans[side][self.rank]

    def exchange(self, side, table):
        """See solvers.Whole."""
        self.row_gather.gather(table, self.spans[side])


def share_of(ratings, n_factors, team, device):
    """Return the Share of a rank of a Team in solving for rows of F factors; solvers.WHOLE for a single process."""
    if team.size == 1:
        return WHOLE
    return Share(count_rows(ratings), n_factors, team, device)


def spans_of(counts, n_factors, size):
    """Return [(first, last + 1)] of each rank's rows, with about equal computation.

    A rating costs F^2 / 2 multiplications; a solution F^3 / 6, or F^2 for each step of conjugate gradients.
    """
    before = np.append(0.0, np.cumsum(np.where(counts > 0, counts + n_factors / 2.0, 0.0)))
    cuts = np.searchsorted(before, before[-1] * np.arange(1, size) / size)
    bounds = [0, *map(int, cuts), len(counts)]
    return list(zip(bounds, bounds[1:]))
