"""Blocks of a training whose ratings do not fit in GPU memory: their number, and those that stay on the device."""

from typing import NamedTuple

LEAST_BLOCKS = 8  # so that the first transfers of an epoch are short
BUFFERS = 2  # on the device, for the blocks that travel: one is read while the other is filled
SHARE = 4  # the buffers take at most one part in SHARE of the memory, if blocks may be that small
UNEVEN = 1.1  # largest block over the mean, about: see chunk_table.UNEVEN
ROUNDS = 3  # chunks of a worker in a block, at least: with 1.2, too many chunks of a row are concurrent: SGD diverges


class Packing(NamedTuple):
    """Sizes of a packed rating.

    width: bytes of minor row << level_bits | level; level_bits: 0 if values travel as float32; code_bits: of a
    neighbour's code; slots: neighbour slots, a multiple of 32 or 0; weighted: ratings have float32 weights.
    """

    width: int
    level_bits: int
    code_bits: int
    slots: int
    weighted: bool

    @property
    def packed(self):
        """Bytes of a packed rating."""
        return self.width + 4 * (self.level_bits == 0) + self.slots * self.code_bits // 8 + 4 * self.weighted

    @property
    def unpacked(self):
        """Bytes of a rating in the arrays that it is unpacked to."""
        return 4 + 4 * (self.level_bits > 0) + self.slots


class StreamPlan(NamedTuple):
    """blocks: of an epoch; kept: number of them that stay on the device, packed."""

    blocks: int
    kept: int


def packing_of(minor_rows, levels, exact, slots, weighted):
    """Return the Packing of ratings of `minor_rows` rows and `levels` rating levels; exact: ratings are levels.

    Codes of neighbours are 0, the levels from 1 on, and all bits set for an empty slot.
    """
    level_bits = max(1, (levels - 1).bit_length()) if exact else 0
    row_bits = max(1, (minor_rows - 1).bit_length())
    code_bits = (levels + 1).bit_length() if slots else 0
    return Packing(-(-(row_bits + level_bits) // 8), level_bits, code_bits, slots, weighted)


def buffer_bytes(packing, ratings):
    """Return the bytes of the buffers for blocks of up to `ratings` ratings: packed ones and the unpacked one."""
    return ratings * (BUFFERS * packing.packed + packing.unpacked)


def plan_blocks(n_ratings, packing, budget, most):
    """Return the StreamPlan of n_ratings ratings for `budget` bytes, at most `most` blocks.

    Blocks are doubled in number until their buffers are small compared with the budget, so that more blocks stay on
    the device. The caller checks that the buffers fit.
    """
    blocks = min(LEAST_BLOCKS, most)
    while blocks < most and SHARE * buffer_bytes(packing, largest_block(n_ratings, blocks)) > budget:
        blocks = min(2 * blocks, most)
    return StreamPlan(blocks, kept_blocks(blocks, largest_block(n_ratings, blocks), packing, budget))


def largest_block(n_ratings, blocks):
    """Return the ratings of the largest of blocks, about."""
    return -(-int(UNEVEN * n_ratings) // blocks)


def kept_blocks(blocks, ratings, packing, budget):
    """Return the number of blocks of up to `ratings` ratings that stay on the device, next to the buffers.

    If all but those in the buffers would, the buffers are not needed.
    """
    left = budget - buffer_bytes(packing, ratings)
    kept = max(0, left // (ratings * packing.packed))
    return blocks if kept + BUFFERS >= blocks else int(kept)


def is_kept(plan):
    """Return [True if a block stays on the device], spread evenly over an epoch."""
    sent = plan.blocks - plan.kept
    return [(block + 1) * sent // plan.blocks == block * sent // plan.blocks for block in range(plan.blocks)]


def least_memory(n_ratings, packing, rows):
    """Return the least bytes for n_ratings ratings of `rows` major rows: buffers of small blocks and a chunk table."""
    most_blocks = 64
    return buffer_bytes(packing, -(-n_ratings // most_blocks)) + 24 * rows
