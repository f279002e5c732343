"""Device functions of the sorting in a block: sorted runs in shared memory, merged in pairs; quicksort (Algorithm 3) of
longer segments down to pieces that fit.

A *segment* is the tuple (keys (n,) of all segments, begin: its first, room: its first place in the buffers, buffer_keys
(2, c), buffer_places (2, c)); its entries [low, low + size) are a piece, in one of the buffers or still among the keys,
which `source` says.
"""

from gpukit._cuda import cuda, device
from gpukit.primitives.keys import LAST_64
from gpukit.primitives.search import make_partition_point
from gpukit.random import integer_below, mix
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


@device
def _goes_first(runs, rank, taken):
    """Whether more than `taken` of the `rank` smallest entries of two runs are in the first."""
    keys, places, a, b, packed = runs
    one, two = slot_of(U32(a + taken)), slot_of(U32(b + U32(U32(rank - U32(1)) - taken)))
    return smaller(keys[one], places[one], keys[two], places[two], packed)


split = make_partition_point(_goes_first, U32)


@device
def split_runs(keys, places, a, n_a, b, n_b, rank, packed):
    """How many of the `rank` smallest entries of two runs are in the first (merge path)."""
    return split((keys, places, a, b, packed), rank, U32(rank - min(rank, n_b)), min(rank, n_a))


@device
def merge_own(keys, places, size, width, key, place, packed):
    """The thread's ENTRIES of the merged runs: pairs of runs of `width` entries in shared memory, `size` in all."""
    first = U32(U32(cuda.threadIdx.x) * U32(ENTRIES))
    base = U32(first & U32(~U32(U32(width * U32(2)) - U32(1))))
    middle, end = min(U32(base + width), size), min(U32(base + U32(width * U32(2))), size)
    rank = U32(first - base)
    count = split_runs(keys, places, base, U32(middle - base), middle, U32(end - middle), rank, packed)
    a, b = U32(base + count), U32(middle + U32(rank - count))
    a_key, a_place, b_key, b_place = keys[slot_of(a)], places[slot_of(a)], keys[slot_of(b)], places[slot_of(b)]
    for r in range(ENTRIES):
        value = (b >= end) | ((a < middle) & smaller(a_key, a_place, b_key, b_place, packed))
        key[r], place[r] = (a_key if value else b_key), (a_place if value else b_place)
        a, b = (U32(a + U32(1)) if value else a), (b if value else U32(b + U32(1)))
        slot = slot_of(a if value else b)
        next_key, next_place = keys[slot], places[slot]
        a_key, a_place = (next_key if value else a_key), (next_place if value else a_place)
        b_key, b_place = (b_key if value else next_key), (b_place if value else next_place)


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


UNREAD = U32(2)  # source of a piece that is still among the keys; 0 and 1: the two buffers


@device
def other_buffer(source):
    """The buffer that a piece goes to."""
    return U32(1) if source == U32(0) else U32(0)


@device
def fetch(segment, source, i, packed):
    """(key, place) of entry i of a segment, from the keys themselves or from a buffer."""
    keys, begin, room, buffer_keys, buffer_places = segment
    if source == UNREAD:
        return make_entry(keys[U64(begin + U64(i))], i, packed), U32(i)
    position = U64(room + U64(i))
    return buffer_keys[source, position], (U32(0) if packed else buffer_places[source, position])


@device
def pick_pivot(segment, source, low, size, draw, packed):
    """(key, place): the median of 32 entries of a piece, one drawn from each 32nd of it. Every warp finds the same.

    16 entries at least are smaller and 15 larger, whatever is drawn: a piece always shrinks.
    """
    lane, share = U32(cuda.laneid), U32(size >> U32(5))
    i = U32(U32(low + U32(lane * share)) + U32(integer_below(mix(U32(draw + size)), U32(low + lane), share)))
    key, place = fetch(segment, source, i, packed)
    rank = U32(0)
    for other in range(32):
        other_key, other_place = entry_of(key, place, other, packed)
        rank = U32(rank + (U32(1) if smaller(other_key, other_place, key, place, packed) else U32(0)))
    winner = U32(cuda.ffs(U32(cuda.ballot_sync(FULL, rank == U32(16)))) - 1)
    return entry_of(key, place, winner, packed)


@device
def count_before(own_count, counts, warps, turn):
    """(entries of the warps before mine, of all warps), each warp having `own_count`; turn: 0 and 1 in alternation."""
    warp = U32(U32(cuda.threadIdx.x) >> U32(5))
    if U32(cuda.laneid) == U32(0):
        counts[turn, warp] = own_count
    cuda.syncthreads()
    before, total = U32(0), U32(0)
    for w in range(warps):
        before = U32(before + (counts[turn, w] if U32(w) < warp else U32(0)))
        total = U32(total + counts[turn, w])
    return before, total


@device
def count_smaller(key, place, live, pivot, rank, packed):
    """rank[r] = entries of the warp's tile in front of the lane's r-th that are below the pivot; returns how many are.

    Entry r of lane l is number 32 r + l of the tile; live: of the lane's entries, the first that many count.
    """
    total = U32(0)
    for r in range(ENTRIES):
        votes = U32(cuda.ballot_sync(FULL, U32(r) < live and smaller(key[r], place[r], pivot[0], pivot[1], packed)))
        rank[r] = U32(total + U32(cuda.popc(U32(votes & U32(cuda.lanemask_lt())))))
        total = U32(total + U32(cuda.popc(votes)))
    return total


@device
def partition(segment, source, low, size, pivot, counts, warps, key, place, rank, packed):
    """Entries [low, low + size) to the other buffer, those below the pivot in front; returns how many these are.

    The others are laid down from the end backwards, so that one reading is enough.
    """
    target, room, buffer_keys, buffer_places = other_buffer(source), segment[2], segment[3], segment[4]
    left, turn = U32(0), U32(0)
    for tile in range(U32(0), size, U32(CHUNK * warps)):
        start = U32(U32(U32(tile) + U32(U32(U32(cuda.threadIdx.x) >> U32(5)) * U32(CHUNK))) + U32(cuda.laneid))
        live = min(U32(U32(U32(size - start) + U32(31)) >> U32(5)), U32(ENTRIES)) if start < size else U32(0)
        for r in range(ENTRIES):
            if U32(r) < live:
                key[r], place[r] = fetch(segment, source, U32(U32(low + start) + U32(32 * r)), packed)
        own_count = count_smaller(key, place, live, pivot, rank, packed)
        before, total = count_before(own_count, counts, warps, turn)
        for r in range(ENTRIES):
            if U32(r) < live:
                front = U32(U32(left + before) + rank[r])
                back = U32(U32(size - U32(1)) - U32(U32(start + U32(32 * r)) - front))
                small = smaller(key[r], place[r], pivot[0], pivot[1], packed)
                position = U64(room + U64(U32(low + (front if small else back))))
                buffer_keys[target, position] = key[r]
                if not packed:
                    buffer_places[target, position] = place[r]
        left, turn = U32(left + total), U32(U32(1) - turn)
    cuda.syncthreads()
    return left


@device
def sort_piece(segment, source, low, size, keys, places, key, place, order, packed):
    """Sort entries [low, low + size) of a segment, a block's at most, and write their places."""
    thread = U32(cuda.threadIdx.x)
    start = U32(U32(U32(thread >> U32(5)) * U32(CHUNK)) + U32(cuda.laneid))
    if U32(U32(thread >> U32(5)) * U32(CHUNK)) < size:
        for r in range(ENTRIES):
            i = U32(start + U32(32 * r))
            key[r], place[r] = LAST_64, FULL
            if i < size:
                key[r], place[r] = fetch(segment, source, U32(low + i), packed)
        sort_warp(key, place, U32(32), keys, places, packed)
        store_own(key, place, keys, places)
    cuda.syncthreads()
    merge_runs(keys, places, size, key, place, packed)
    for i in range(thread, size, U32(cuda.blockDim.x)):
        slot = slot_of(U32(i))
        order[U64(segment[1] + U64(U32(low + U32(i))))] = I32(place_of(keys[slot], places[slot], packed))
    cuda.syncthreads()


@device
def push(stack, top, low, size, source):
    """Lay a piece on the stack; returns its new height."""
    if cuda.threadIdx.x == 0:
        stack[top, 0], stack[top, 1], stack[top, 2] = low, size, source
    return U32(top + U32(1))
