"""Deterministic training for any number of threads: blocks in strata without conflicts (Gemulla et al. 2011).

The rows of both sides are assigned to the same number of blocks. Stratum s has the blocks (b, (b + s) mod blocks). No
two of them share a row, so threads may process them concurrently in any order. The number of blocks depends on the
ratings alone. The ratings of a block are contiguous, its rows in random order.
"""

from typing import NamedTuple

import numpy as np

from gpukit.factorization.solvers.sgd import schedule


def uses_strata(device, deterministic):
    """Return True if training uses strata: deterministic, on a CPU.

    A GPU has more workers than a stratum has blocks and trains in batches (solvers/sgd/batches).
    """
    return deterministic and not device.is_cuda


class BlockAssignment(NamedTuple):
    """Blocks of the rows of both sides, on the host.

    blocks; turns: major rows of a block, at most; seat (rows,) int32: block * turns + turn of each major row; block
    (rows,) int32 of each minor row.
    """

    blocks: int
    turns: int
    seat: np.ndarray
    block: np.ndarray

    @property
    def runs(self):
        """Number of runs: ratings of one row in one block; some are empty."""
        return self.blocks * self.blocks * self.turns


def assign_blocks(counts, others, blocks, seed):
    """Return the BlockAssignment of major and minor rows with counts and others (rows,) ratings."""
    (block, turn), (other_block, _) = (schedule.deal_rows(side, blocks, seed) for side in (counts, others))
    turns = -(-len(counts) // blocks)
    return BlockAssignment(blocks, turns, (block * turns + turn).astype(np.int32), other_block)


def arrange_in_strata(starts, others, where, assignment, steps):
    """Return (where, tables) on the device: positions of the ratings by block, and the chunk table of each stratum.

    starts (rows + 1,), others (n,): as in ratings.orders; where (n,): positions of the ratings in shuffled rows. A
    table is (turns * blocks, 3) int64, ordered by turn with one chunk per block.
    """
    n, run_bits = where.size, max(1, assignment.runs.bit_length())
    keys, places, moved = steps.empty(n, np.uint64), steps.empty(n, np.uint32), steps.empty(n, np.uint32)
    seat, block = steps.resident(assignment.seat, np.int32), steps.resident(assignment.block, np.int32)
    steps.run("key_runs", starts, others, where, seat, block, assignment.blocks, assignment.turns, keys)
    steps.run("count_up", places)
    keys, places, _ = steps.sort_by_bits(keys, 0, run_bits, places)
    run_starts = steps.row_starts(keys, 0, run_bits, assignment.runs)
    steps.run("turn_around", places, moved)
    steps.run("follow", moved, where, places)
    blocks, size = assignment.blocks, assignment.blocks * assignment.turns
    table, rows = steps.empty((assignment.runs, 3), np.int64), np.zeros(size, np.int32)
    rows[assignment.seat] = np.arange(len(assignment.seat))
    steps.run("cut_runs", run_starts, steps.resident(rows, np.int32), blocks, assignment.turns, table)
    return places, [table[s * size : (s + 1) * size] for s in range(blocks)]
