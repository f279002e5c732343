"""Training that gives one result whoever does the work: ratings in blocks, blocks in strata (Gemulla et al. 2011).

Rows of both sides are dealt into as many blocks each. Stratum s is all blocks (b, (b + s) mod blocks): no two of them
share a row, so they may be walked at the same time, in any order, by any number of threads. How many blocks there are
hangs on the ratings alone. A block's ratings lie together, its rows in a random order, a row's as they are shuffled.
"""

from typing import NamedTuple

import numpy as np

from gpukit.factorization.solvers.sgd import schedule


def in_strata_on(device, deterministic):
    """Whether a training on a device goes by strata: one that is to give one result, on a CPU. A GPU has more workers
    than strata have work for, and trains in batches (solvers/sgd/batches)."""
    return deterministic and not device.is_cuda


class BlockAssignment(NamedTuple):
    """Where the rows of the two sides sit: blocks, turns in a block; seat (rows,) int32 of a major row: block * turns +
    turn; block (rows,) int32 of a minor row. The arrays lie on the host."""

    blocks: int
    turns: int
    seat: np.ndarray
    block: np.ndarray

    @property
    def runs(self):
        """Runs of ratings of one row in one block that there may be; some have none."""
        return self.blocks * self.blocks * self.turns


def seats_of(counts, others, blocks, seed):
    """The BlockAssignment of rows with so many ratings: major ones counts (rows,), minor ones others (rows,)."""
    (block, turn), (other_block, _) = (schedule.dealt(each, blocks, seed) for each in (counts, others))
    turns = -(-len(counts) // blocks)
    return BlockAssignment(blocks, turns, (block * turns + turn).astype(np.int32), other_block)


def in_strata(starts, others, where, seats, steps):
    """(where, tables) on the device: the ratings, shuffled in their rows by `where`, moved into their blocks; for each
    stratum its chunks, (turns * blocks, 3) int64 in turns of a chunk a block.

    starts (rows + 1,), others (n,): as in ratings.orders.
    """
    n, run_bits = where.size, max(1, seats.runs.bit_length())
    keys, places, moved = steps.empty(n, np.uint64), steps.empty(n, np.uint32), steps.empty(n, np.uint32)
    seat, block = steps.resident(seats.seat, np.int32), steps.resident(seats.block, np.int32)
    steps.run("key_runs", starts, others, where, seat, block, seats.blocks, seats.turns, keys)
    steps.run("count_up", places)
    keys, places, _ = steps.sort_by_bits(keys, 0, run_bits, places)
    run_starts = steps.row_starts(keys, 0, run_bits, seats.runs)
    steps.run("turn_around", places, moved)
    steps.run("follow", moved, where, places)
    table = steps.empty((seats.runs, 3), np.int64)
    rows = np.zeros(seats.blocks * seats.turns, np.int32)
    rows[seats.seat] = np.arange(len(seats.seat))
    steps.run("cut_runs", run_starts, steps.resident(rows, np.int32), seats.blocks, seats.turns, table)
    size = seats.blocks * seats.turns
    return places, [table[s * size : (s + 1) * size] for s in range(seats.blocks)]
