"""Host steps of the sorting on the GPU; cpu.py has the same functions. A sort is one launch and no other work."""

from typing import NamedTuple

import numpy as np

from gpukit._driver import device_array, launch
from gpukit.device.gpu_arrays import fetch
from gpukit.device.upload import to_device
from gpukit.random import key
from gpukit.sorting import kernels
from gpukit.sorting.warp_sort import ENTRIES
from gpukit.streams import Keyed

__all__ = ["argsort", "empty", "fetch", "first_nan", "plan", "resident"]

BLOCK_SIZE = 128  # threads
empty = device_array


def resident(keys):
    """Keys of the host or of the device, on the device."""
    return to_device(keys) if isinstance(keys, np.ndarray) else keys


class PreparedSort(NamedTuple):
    """How the segments of one offsets array are sorted, again and again; arrays on the device.

    offsets (m + 1,) int64; the fields after it are the launch scratch of the kernel, an argsort_segments. Its buffers
    serve one sort at a time.
    """

    kernel: object
    block_size: int
    offsets: object
    key: np.uint32
    segments: object
    blocks: object
    buffer_keys: object
    buffer_places: object


def plan(offsets, dtype, seed=0, block_size=BLOCK_SIZE):
    """The PreparedSort of float32 or float64 keys (dtype) in segments [offsets[s], offsets[s + 1]), on the host."""
    offsets = np.ascontiguousarray(offsets, np.int64)
    segments, blocks, room = work(offsets, block_size)
    packed, room = np.dtype(dtype) == np.float32, max(room, 1)
    buffers = device_array((2, room), np.uint64), device_array((2, 1 if packed else room), np.uint32)
    kernel = kernels.make_argsort(packed, block_size, only_small(blocks))
    arrays = (to_device(array) for array in (segments, blocks))
    return PreparedSort(kernel, block_size, to_device(offsets), pivot_key(seed), *arrays, *buffers)


def argsort(keys, prepared, order):
    """order (n,) int32 = positions in their segments of the keys (n,), ascending, equal ones by position.

    Device arrays. NaN is not looked for.
    """
    kernel, block_size, offsets, *scratch = prepared
    if len(prepared.blocks):
        launch(kernel, len(prepared.blocks), block_size, keys, offsets, order, *scratch)


def first_nan(keys):
    """The index of the first NaN of device keys (n,); n without one."""
    position = to_device(np.array([keys.size], np.int64))
    if keys.size:
        launch(kernels.first_nan, -(-keys.size // 256), 256, keys, position)
    return int(position.copy_to_host()[0])


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


def only_small(blocks):
    """True if no block of the queue sorts a segment alone."""
    return bool((blocks[:, 2] > 0).all())


def whole_blocks(room):
    """Rows of the queue's blocks that do one segment each."""
    count = len(room)
    return np.stack([np.arange(count), np.ones(count, int), np.zeros(count, int), np.cumsum(room) - room], axis=1)


def group_blocks(first, count, most, width):
    """Rows of blocks that do `most` segments each, by groups of `width` lanes: the queue's [first, first + count)."""
    starts = np.arange(0, count, most)
    rows = [first + starts, np.minimum(most, count - starts), np.full(len(starts), width), np.zeros(len(starts), int)]
    return np.stack(rows, axis=1)
