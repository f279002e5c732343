"""Memory that a training needs.

Blocks of a training whose ratings do not fit in GPU memory: their number, and those that stay on the device.
"""

from typing import NamedTuple

from gpukit.factorization.constants import RULES
from gpukit.neighbors.plan import STRIPE_BYTES, stripe_rows

CODE_BLOCKS = 1056  # blocks that look up ratings of neighbours in parallel, each with a table of a byte an item
SORTED = 34  # bytes of a rating while they are sorted: 29 with at most 254 values, otherwise 38


def memory_kept(n_ratings, sides, layout):
    """Return the bytes that training holds throughout.

    These are ratings with their codes (8 bytes a rating and one a slot), the users' history (5 bytes a rating), both
    parameter tables, influences, offsets and neighbours. sides: number of rows of the major side (with neighbourhoods:
    the items) and of the minor side.
    """
    rows = sum(_rows(count, side) for count, side in zip(sides, (layout.major, layout.minor)))
    return n_ratings * (13 + layout.slots) + rows + 16 * (sides[0] + 1) * layout.slots


def memory_needed(n_ratings, sides, layout):
    """Return the peak bytes on a GPU over the steps of preparation.

    Arguments as memory_kept.
    """
    searched = 31  # bytes of a rating while neighbours are searched
    coded = 8  # more bytes of a rating than are kept, for positions and codes
    resident_bytes = memory_kept(n_ratings, sides, layout) + coded * n_ratings
    steps = [
        SORTED * n_ratings,
        resident_bytes + _rows(sides[1], layout.minor),
    ]  # the minor side's rows move to another table
    if layout.slots:
        steps += [searched * n_ratings + _search(sides[0], layout), resident_bytes + CODE_BLOCKS * (sides[0] + 1)]
    return max(steps)


def memory_searched(n_ratings, items, layout):
    """Return the bytes on a GPU of a search for neighbours whose ratings were sorted on the host, in both orders."""
    order_bytes = 5  # of a rating in one order
    return 2 * order_bytes * n_ratings + _search(items, layout)


def pair_bytes(layout):
    """Return the bytes of a pair that is predicted and judged: rows and numbers; codes, sorted by user."""
    return 20 + (layout.slots and 40 + layout.slots)


def memory_streamed(n_ratings, sides, layout):
    """Return the least bytes on a GPU of a training whose ratings stream from main memory.

    Arguments as memory_kept. The packing is taken to be the widest.
    """
    packing = Packing(8, 0, 8 if layout.slots else 0, layout.slots, True)
    rows = memory_kept(0, sides, layout) + _rows(sides[1], layout.minor)
    return rows + least_memory(n_ratings, packing, sides[0])


def host_memory(n_ratings, sides, layout):
    """Return the bytes on the host of a training there, or of one whose ratings stream; arguments as memory_kept.

    These are sorted ratings, codes of neighbours, packed ratings and a State. Large arrays may be in files.
    """
    return n_ratings * (SORTED + 2 * layout.slots) + memory_on_host(sides, layout)


def memory_on_host(sides, layout):
    """Return the bytes of main memory that a State needs.

    Parameter rows on the host need additional memory.
    """
    return 2 * memory_kept(0, sides, layout)


def _rows(count, rows):
    """Return the bytes of a side's parameter rows, including the unknown row; rows: layout.Rows."""
    return 4 * (count + 1) * rows.stride


def _search(items, layout):
    """Return the bytes of a search for neighbours: hashings, keys of a stripe, lists."""
    hashed = 300  # bytes of an item's hashings at the usual settings
    return items * (hashed + 4 * stripe_rows(items, STRIPE_BYTES) + 8 * layout.slots)


BUFFERS = 2  # on the device, for the blocks that travel: one is read while the other is filled


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
    """Return the number of blocks of n_ratings ratings for `budget` bytes, at most `most` blocks.

    Blocks are doubled in number until their buffers are small compared with the budget, so that more blocks stay on
    the device. The caller checks that the buffers fit.
    """
    share = 4  # the buffers take at most one part in `share` of the memory, if blocks may be that small
    blocks = min(RULES.least_blocks, most)
    while blocks < most and share * buffer_bytes(packing, largest_block(n_ratings, blocks)) > budget:
        blocks = min(2 * blocks, most)
    return blocks


def largest_block(n_ratings, blocks):
    """Return the ratings of the largest of blocks, about."""
    uneven = 1.1  # largest block over the mean, about: see schedule.pieces_of
    return -(-int(uneven * n_ratings) // blocks)


def kept_blocks(blocks, ratings, packing, budget):
    """Return the number of blocks of up to `ratings` ratings that stay on the device, next to the buffers.

    If all but those in the buffers would, the buffers are not needed.
    """
    left = budget - buffer_bytes(packing, ratings)
    n_kept = max(0, left // (ratings * packing.packed))
    return blocks if n_kept + BUFFERS >= blocks else int(n_kept)


def is_kept(blocks, n_kept):
    """Return [True if a block stays on the device], (blocks,): `n_kept` of them, spread evenly over an epoch."""
    n_sent = blocks - n_kept
    return [(block + 1) * n_sent // blocks == block * n_sent // blocks for block in range(blocks)]


def least_memory(n_ratings, packing, rows):
    """Return the least bytes for n_ratings ratings of `rows` major rows: buffers of small blocks and a chunk table."""
    most_blocks = 64
    return buffer_bytes(packing, -(-n_ratings // most_blocks)) + 24 * rows
