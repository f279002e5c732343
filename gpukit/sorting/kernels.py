"""GPU kernels of the sorting; twins.py has them for the CPU. Entries, and how a warp sorts them, are in lanes.py.

up to 256 entries    a group of 1 to 32 lanes: bitonic sorting in registers and by shuffles
up to a block's      a warp 256 of them as above, then runs are merged in shared memory
more                 a block: quicksort (Algorithm 3), the stack of open pieces in shared memory
"""

import functools

import numpy as np

from gpukit._cuda import cuda, device, kernel
from gpukit.random import below, mix
from gpukit.sorting.formulas import LAST
from gpukit.sorting.warp_sort import (
    CHUNK,
    ENTRIES,
    FULL,
    I32,
    U32,
    U64,
    entry_of,
    make_entry,
    place_of,
    slot_of,
    smaller,
    sort_warp,
    store_own,
)

REGISTERS = 80  # a thread's: 24 warps on a multiprocessor, and none is spilled
UNREAD = U32(2)  # source of a piece that is still among the keys; 0 and 1: the two buffers
DEPTH = 32  # of the stack: every piece on it is more than twice as long as what is above it


@device
def sort_small(values, begin, size, lanes, key, place, keys, places, order, packed):
    """One segment of up to ENTRIES * lanes keys by each group of lanes."""
    thread = U32(cuda.threadIdx.x)
    lane = U32(thread & U32(lanes - U32(1)))
    for r in range(ENTRIES):
        i = U32(U32(U32(r) * lanes) + lane)
        live = i < size
        key[r] = make_entry(values[U64(begin + U64(i))], i, packed) if live else LAST
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


@device
def split_runs(keys, places, a, n_a, b, n_b, rank, packed):
    """How many of the `rank` smallest entries of two runs are in the first (merge path, by bisection)."""
    low, high = U32(rank - min(rank, n_b)), min(rank, n_a)
    while low < high:
        middle = U32(U32(low + high) >> U32(1))
        one, two = slot_of(U32(a + middle)), slot_of(U32(b + U32(U32(rank - U32(1)) - middle)))
        if smaller(keys[one], places[one], keys[two], places[two], packed):
            low = U32(middle + U32(1))
        else:
            high = middle
    return low


@device
def merge_own(keys, places, size, width, key, place, packed):
    """The thread's ENTRIES of the merged runs: pairs of runs of `width` entries in shared memory, `size` in all."""
    first = U32(U32(cuda.threadIdx.x) * U32(ENTRIES))
    base = U32(first & U32(~U32(U32(width * U32(2)) - U32(1))))
    middle, end = min(U32(base + width), size), min(U32(base + U32(width * U32(2))), size)
    rank = U32(first - base)
    taken = split_runs(keys, places, base, U32(middle - base), middle, U32(end - middle), rank, packed)
    a, b = U32(base + taken), U32(middle + U32(rank - taken))
    a_key, a_place, b_key, b_place = keys[slot_of(a)], places[slot_of(a)], keys[slot_of(b)], places[slot_of(b)]
    for r in range(ENTRIES):
        one = (b >= end) | ((a < middle) & smaller(a_key, a_place, b_key, b_place, packed))
        key[r], place[r] = (a_key if one else b_key), (a_place if one else b_place)
        a, b = (U32(a + U32(1)) if one else a), (b if one else U32(b + U32(1)))
        slot = slot_of(a if one else b)
        next_key, next_place = keys[slot], places[slot]
        a_key, a_place = (next_key if one else a_key), (next_place if one else a_place)
        b_key, b_place = (b_key if one else next_key), (b_place if one else next_place)


@device
def merge_runs(keys, places, size, key, place, packed):
    """Merge sorted runs of CHUNK entries in shared memory until there is one."""
    width = U32(CHUNK)
    while width < size:
        busy = U32(U32(cuda.threadIdx.x) * U32(ENTRIES)) < size
        if busy:
            merge_own(keys, places, size, width, key, place, packed)
        cuda.syncthreads()
        if busy:
            store_own(key, place, keys, places)
        cuda.syncthreads()
        width = U32(width << U32(1))


@device
def fetch(values, begin, source, room, i, buffer_keys, buffer_places, packed):
    """(key, place) of entry i of a segment, from the keys themselves or from a buffer."""
    if source == UNREAD:
        return make_entry(values[U64(begin + U64(i))], i, packed), U32(i)
    at = U64(room + U64(i))
    return buffer_keys[source, at], (U32(0) if packed else buffer_places[source, at])


@device
def pick_pivot(values, begin, source, room, low, size, draw, buffer_keys, buffer_places, packed):
    """(key, place): the median of 32 entries of a piece, one drawn from each 32nd of it. Every warp finds the same.

    16 entries at least are smaller and 15 larger, whatever is drawn: a piece always shrinks.
    """
    lane, share = U32(cuda.laneid), U32(size >> U32(5))
    i = U32(U32(low + U32(lane * share)) + U32(below(mix(U32(draw + size)), U32(low + lane), share)))
    key, place = fetch(values, begin, source, room, i, buffer_keys, buffer_places, packed)
    rank = U32(0)
    for other in range(32):
        other_key, other_place = entry_of(key, place, other, packed)
        rank = U32(rank + (U32(1) if smaller(other_key, other_place, key, place, packed) else U32(0)))
    winner = U32(cuda.ffs(U32(cuda.ballot_sync(FULL, rank == U32(16)))) - 1)
    return entry_of(key, place, winner, packed)


@device
def count_before(own, counts, warps, turn):
    """(entries of the warps before mine, of all warps), each warp having `own`; turn: 0 and 1 in alternation."""
    warp = U32(U32(cuda.threadIdx.x) >> U32(5))
    if U32(cuda.laneid) == U32(0):
        counts[turn, warp] = own
    cuda.syncthreads()
    before, total = U32(0), U32(0)
    for w in range(warps):
        before = U32(before + (counts[turn, w] if U32(w) < warp else U32(0)))
        total = U32(total + counts[turn, w])
    return before, total


@device
def count_smaller(key, place, live, pivot, pivot_place, rank, packed):
    """rank[r] = entries of the warp's tile in front of the lane's r-th that are below the pivot; returns how many are.

    Entry r of lane l is number 32 r + l of the tile; live: of the lane's entries, the first that many count.
    """
    total = U32(0)
    for r in range(ENTRIES):
        votes = U32(cuda.ballot_sync(FULL, U32(r) < live and smaller(key[r], place[r], pivot, pivot_place, packed)))
        rank[r] = U32(total + U32(cuda.popc(U32(votes & U32(cuda.lanemask_lt())))))
        total = U32(total + U32(cuda.popc(votes)))
    return total


@device
def partition(
    values,
    begin,
    source,
    room,
    low,
    size,
    pivot,
    pivot_place,
    counts,
    warps,
    key,
    place,
    rank,
    buffer_keys,
    buffer_places,
    packed,
):
    """Entries [low, low + size) to the other buffer, those below the pivot in front; returns how many these are.

    The others are laid down from the end backwards, so that one reading is enough.
    """
    target = U32(1) if source == U32(0) else U32(0)
    left, turn = U32(0), U32(0)
    for tile in range(U32(0), size, U32(CHUNK * warps)):
        start = U32(U32(U32(tile) + U32(U32(U32(cuda.threadIdx.x) >> U32(5)) * U32(CHUNK))) + U32(cuda.laneid))
        live = min(U32(U32(U32(size - start) + U32(31)) >> U32(5)), U32(ENTRIES)) if start < size else U32(0)
        for r in range(ENTRIES):
            if U32(r) < live:
                key[r], place[r] = fetch(
                    values, begin, source, room, U32(U32(low + start) + U32(32 * r)), buffer_keys, buffer_places, packed
                )
        own = count_smaller(key, place, live, pivot, pivot_place, rank, packed)
        before, total = count_before(own, counts, warps, turn)
        for r in range(ENTRIES):
            if U32(r) < live:
                front = U32(U32(left + before) + rank[r])
                back = U32(U32(size - U32(1)) - U32(U32(start + U32(32 * r)) - front))
                small = smaller(key[r], place[r], pivot, pivot_place, packed)
                at = U64(room + U64(U32(low + (front if small else back))))
                buffer_keys[target, at] = key[r]
                if not packed:
                    buffer_places[target, at] = place[r]
        left, turn = U32(left + total), U32(U32(1) - turn)
    cuda.syncthreads()
    return left


@device
def sort_piece(
    values, begin, source, room, low, size, keys, places, key, place, buffer_keys, buffer_places, order, packed
):
    """Sort entries [low, low + size) of a segment, a block's at most, and write their places."""
    thread = U32(cuda.threadIdx.x)
    start = U32(U32(U32(thread >> U32(5)) * U32(CHUNK)) + U32(cuda.laneid))
    if U32(U32(thread >> U32(5)) * U32(CHUNK)) < size:
        for r in range(ENTRIES):
            i = U32(start + U32(32 * r))
            key[r], place[r] = LAST, FULL
            if i < size:
                key[r], place[r] = fetch(values, begin, source, room, U32(low + i), buffer_keys, buffer_places, packed)
        sort_warp(key, place, U32(32), keys, places, packed)
        store_own(key, place, keys, places)
    cuda.syncthreads()
    merge_runs(keys, places, size, key, place, packed)
    for i in range(thread, size, U32(cuda.blockDim.x)):
        slot = slot_of(U32(i))
        order[U64(begin + U64(U32(low + U32(i))))] = I32(place_of(keys[slot], places[slot], packed))
    cuda.syncthreads()


@device
def push(stack, top, low, size, source):
    """Lay a piece on the stack; returns its new height."""
    if cuda.threadIdx.x == 0:
        stack[top, 0], stack[top, 1], stack[top, 2] = low, size, source
    return U32(top + U32(1))


@functools.cache
def make_argsort(packed, threads):
    """argsort_segments for float32 keys (packed) or float64 keys, in blocks of `threads`, a multiple of 32."""
    capacity, warps = threads * ENTRIES, threads // 32
    slots = capacity + threads + 2 * ENTRIES  # a merge reads a little past the end

    @kernel(max_registers=REGISTERS)
    def argsort_segments(keys, offsets, order, queue_key, queue_segments, queue_blocks, buffer_keys, buffer_places):
        """order[offsets[s] + r] = position in segment s of its r-th smallest key; equal keys by position.

        keys (n,) float32 (packed) or float64; offsets (m + 1,) int64, segment s is keys[offsets[s]:offsets[s + 1]];
        order (n,) int32, overwritten; queue_key uint32: of the random pivots; queue_segments (w,) int32: the segments
        that hold anything, in the order of the work; queue_blocks (B, 4) int64: what block b does, rows (first in
        queue_segments, how many, lanes for each or 0 for the whole block, its first place in the buffers);
        buffer_keys (2, c) uint64 and buffer_places (2, c) uint32: as many places as the segments hold that are longer
        than a block's 8 * threads. A NaN is sorted like a number, by its sign to either end.
        Launch: grid B, block `threads`.   Deterministic: yes, exact, whatever the pivots.
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
        mine = U32(U32(cuda.threadIdx.x) // lanes) if lanes else U32(0)
        live = mine < U32(queue_blocks[block, 1])
        segment = U32(queue_segments[U64(queue_blocks[block, 0]) + U64(mine)]) if live else U32(0)
        begin = U64(offsets[segment])
        size = U32(U64(offsets[U32(segment + U32(1))]) - begin) if live else U32(0)
        if lanes:
            sort_small(keys, begin, size, lanes, key, place, shared_keys, shared_places, order, packed)
            return
        low, source, top = U32(0), UNREAD, U32(0)
        while True:
            while size > U32(capacity):
                pivot, pivot_place = pick_pivot(
                    keys, begin, source, room, low, size, queue_key, buffer_keys, buffer_places, packed
                )
                left = partition(
                    keys,
                    begin,
                    source,
                    room,
                    low,
                    size,
                    pivot,
                    pivot_place,
                    counts,
                    warps,
                    key,
                    place,
                    rank,
                    buffer_keys,
                    buffer_places,
                    packed,
                )
                source, right = (U32(1) if source == U32(0) else U32(0)), U32(size - left)
                front = left < right  # the shorter part first: the stack stays low
                top = push(stack, top, U32(low + left) if front else low, right if front else left, source)
                low, size = (low if front else U32(low + left)), (left if front else right)
            sort_piece(
                keys,
                begin,
                source,
                room,
                low,
                size,
                shared_keys,
                shared_places,
                key,
                place,
                buffer_keys,
                buffer_places,
                order,
                packed,
            )
            if top == U32(0):
                break
            top = U32(top - U32(1))
            low, size, source = stack[top, 0], stack[top, 1], stack[top, 2]

    return argsort_segments


@kernel
def first_nan(keys, found):
    """The index of the first NaN.

    keys (n,) float32 or float64; found (1,) int64: n before, lowered to the index if there is a NaN.
    Launch: any grid of at least n threads, any block.   Deterministic: yes, exact.   Source: an atomic minimum.
    """
    i = cuda.grid(1)
    if i < keys.size and keys[i] != keys[i]:
        cuda.atomic.min(found, 0, i)
