"""What the host decides before a sort: which block does which segments. Integers only; NaN, shapes and offsets are
checked in segmented.py."""

import numpy as np

from gpukit.random import key
from gpukit.streams import Keyed

ENTRIES = 8  # a lane's
CHUNK = 32 * ENTRIES  # a warp's


def pivot_key(seed):
    """The uint32 key of the random pivots."""
    return np.uint32(key(seed, Keyed.PIVOTS[0]))


def group_lanes(sizes):
    """Lanes that sort a segment of each size: a power of two, ENTRIES keys a lane; 0 where a warp is too small."""
    lanes = np.ones(len(sizes), np.int64)
    while (short := (lanes * ENTRIES < sizes) & (lanes <= 32)).any():
        lanes[short] *= 2
    return np.where(lanes > 32, 0, lanes)


def work(offsets, block_size):
    """(segments (w,) int32, blocks (B, 4) int64, places in the buffers): the queue of kernels.argsort_segments.

    Whole blocks first, the longest segment at the head; then groups of falling size, in the order of the segments.
    """
    sizes = np.diff(offsets)
    lanes = group_lanes(sizes)
    whole = np.flatnonzero(lanes == 0)
    whole = whole[np.argsort(-sizes[whole], kind="stable")]
    room = np.where(sizes[whole] > block_size * ENTRIES, sizes[whole], 0)
    segments, blocks = [whole], [whole_blocks(room)]
    first = len(whole)
    for width in (32, 16, 8, 4, 2, 1):
        chosen = np.flatnonzero((lanes == width) & (sizes > 0))
        segments.append(chosen)
        blocks.append(group_blocks(first, len(chosen), block_size // width, width))
        first += len(chosen)
    return np.concatenate(segments).astype(np.int32), np.concatenate(blocks).astype(np.int64), int(room.sum())


def whole_blocks(room):
    """Rows of the queue's blocks that do one segment each."""
    count = len(room)
    return np.stack([np.arange(count), np.ones(count, int), np.zeros(count, int), np.cumsum(room) - room], axis=1)


def group_blocks(first, count, most, width):
    """Rows of blocks that do `most` segments each, by groups of `width` lanes: the queue's [first, first + count)."""
    starts = np.arange(0, count, most)
    rows = [first + starts, np.minimum(most, count - starts), np.full(len(starts), width), np.zeros(len(starts), int)]
    return np.stack(rows, axis=1)
