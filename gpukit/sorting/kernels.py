"""GPU kernels of the sorting; twins.py has them for the CPU.

up to 256 entries    a group of 1 to 32 lanes: bitonic sorting in registers and by shuffles (warp_sort.py)
up to a block's      a warp 256 of them as above, then runs are merged in shared memory (block_merge.py)
more                 a block: quicksort (quicksort.py), the stack of open pieces in shared memory
"""

import numpy as np

from gpukit._cuda import cuda, device, factory, kernel
from gpukit.primitives.keys import LAST_64
from gpukit.sorting.quicksort import UNREAD, other_buffer, partition, pick_pivot, push, sort_piece
from gpukit.sorting.warp_sort import ENTRIES, I32, U32, U64, make_entry, place_of, slot_of, sort_warp

DEPTH = 32  # of the stack: every piece on it is more than twice as long as what is above it


@device
def sort_small(values, begin, size, lanes, key, place, keys, places, order, packed):
    """One segment of up to ENTRIES * lanes keys by each group of lanes."""
    thread = U32(cuda.threadIdx.x)
    lane = U32(thread & U32(lanes - U32(1)))
    for r in range(ENTRIES):
        i = U32(U32(U32(r) * lanes) + lane)
        live = i < size
        key[r] = make_entry(values[U64(begin + U64(i))], i, packed) if live else LAST_64
        place[r] = i
    sort_warp(key, place, lanes, keys, places, packed)
    for r in range(ENTRIES):
        places[slot_of(U32(U32(thread * U32(ENTRIES)) + U32(r)))] = place_of(key[r], place[r], packed)
    cuda.syncwarp()
    first = U32(U32(thread - lane) * U32(ENTRIES))
    for r in range(ENTRIES):
        i = U32(U32(U32(r) * lanes) + lane)
        if i < size:
            order[U64(begin + U64(i))] = I32(places[slot_of(U32(first + i))])


@factory
def make_argsort(packed, block_size, only_small):
    """argsort_segments for float32 keys (packed) or float64 keys, in blocks of block_size threads, a multiple of 32.

    only_small: without the code for segments of more than a warp's entries, which takes half the time of compiling.
    """
    capacity, warps = block_size * ENTRIES, block_size // 32
    slots = capacity + block_size + 2 * ENTRIES  # a merge reads a little past the end

    @kernel(max_registers=80)  # 24 warps on a multiprocessor, and none is spilled
    def argsort_segments(keys, offsets, order, queue_key, queue_segments, queue_blocks, buffer_keys, buffer_places):
        """order[offsets[s] + r] = position in segment s of its r-th smallest key; equal keys by position.

        keys (n,) float32 (packed) or float64; offsets (m + 1,) int64, segment s is keys[offsets[s]:offsets[s + 1]];
        order (n,) int32, overwritten; queue_key uint32: of the random pivots; queue_segments (w,) int32: the segments
        that hold anything, in the order of the work; queue_blocks (B, 4) int64: what block b does, rows (first in
        queue_segments, how many, lanes for each or 0 for the whole block, its first place in the buffers);
        buffer_keys (2, c) uint64 and buffer_places (2, c) uint32: as many places as the segments hold that are longer
        than a block's 8 * block_size. A NaN is sorted like a number, by its sign to either end.
        Launch: grid B, block block_size.   Deterministic: yes, exact, whatever the pivots.
        Source: linear RankSVM's Algorithm 3, with places copied and the pivot in one half only; bitonic sorting after
        Batcher 1968; merge path after Green, McColl and Bader 2012.
        """
        shared_keys = cuda.shared.array(slots, np.uint64)
        shared_places = cuda.shared.array(slots, np.uint32)
        counts = cuda.shared.array((2, warps), np.uint32)
        stack = cuda.shared.array((DEPTH, 3), np.uint32)
        key = cuda.local.array(ENTRIES, np.uint64)
        place = cuda.local.array(ENTRIES, np.uint32)
        rank = cuda.local.array(ENTRIES, np.uint32)
        block = U32(cuda.blockIdx.x)
        lanes, room = U32(queue_blocks[block, 2]), U64(queue_blocks[block, 3])
        own_segment = U32(U32(cuda.threadIdx.x) // lanes) if lanes else U32(0)
        live = own_segment < U32(queue_blocks[block, 1])
        segment = U32(queue_segments[U64(queue_blocks[block, 0]) + U64(own_segment)]) if live else U32(0)
        begin = U64(offsets[segment])
        size = U32(U64(offsets[U32(segment + U32(1))]) - begin) if live else U32(0)
        if only_small or lanes:
            sort_small(keys, begin, size, lanes, key, place, shared_keys, shared_places, order, packed)
            return
        whole = keys, begin, room, buffer_keys, buffer_places
        low, source, top = U32(0), UNREAD, U32(0)
        while True:
            while size > U32(capacity):
                pivot = pick_pivot(whole, source, low, size, queue_key, packed)
                left = partition(whole, source, low, size, pivot, counts, warps, key, place, rank, packed)
                source, right = other_buffer(source), U32(size - left)
                front = left < right  # the shorter part first: the stack stays low
                top = push(stack, top, U32(low + left) if front else low, right if front else left, source)
                low, size = (low if front else U32(low + left)), (left if front else right)
            sort_piece(whole, source, low, size, shared_keys, shared_places, key, place, order, packed)
            if top == U32(0):
                break
            top = U32(top - U32(1))
            low, size, source = stack[top, 0], stack[top, 1], stack[top, 2]

    return argsort_segments


@kernel
def first_nan(keys, position):
    """The index of the first NaN.

    keys (n,) float32 or float64; position (1,) int64: n before, lowered to the index if there is a NaN.
    Launch: any grid of at least n threads, any block.   Deterministic: yes, exact.   Source: an atomic minimum.
    """
    i = cuda.grid(1)
    if i < keys.size and keys[i] != keys[i]:
        cuda.atomic.min(position, 0, i)
