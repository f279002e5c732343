"""Device functions of the sorting in a block: sorted runs in shared memory, merged in pairs."""

from gpukit._cuda import cuda, device
from gpukit.primitives.search import make_partition_point
from gpukit.sorting.warp_sort import CHUNK, ENTRIES, U32, slot_of, smaller, store_own


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
