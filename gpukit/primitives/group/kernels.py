"""GPU kernels of grouping: one pass of a least-significant-digit radix sort, and the rows' beginnings; twins.py.

A block walks consecutive tiles. It ranks a tile's records warp by warp, in the order of the input: the lanes of equal
digit find each other by votes. The tile is put in order in shared memory first, so that what goes to one digit's place
is written side by side.
"""

import numpy as np

from gpukit._cuda import cuda, device, factory, kernel
from gpukit.primitives.group.formulas import MOST_BITS, digit, first_of_row

U32, U64, I64 = np.uint32, np.uint64, np.int64
FULL = U32(0xFFFFFFFF)
BINS = 1 << MOST_BITS
THREADS = 256  # of a block; one a bin
WARPS = THREADS // 32
ITEMS = 8  # records of a thread in a tile
SHARE = ITEMS * 32  # of a warp
TILE = ITEMS * THREADS


@device
def peers(number, width):
    """The lanes (a mask) whose number agrees with this lane's in its lowest `width` bits. All lanes must arrive."""
    same = FULL
    for bit in range(width):
        bit_value = U32(U32(number >> U32(bit)) & U32(1))
        votes = U32(cuda.ballot_sync(FULL, bit_value == U32(1)))
        same = U32(same & (votes if bit_value == U32(1) else U32(~votes)))
    return same


@kernel
def count_digits(keys, shift, width, tiles, counts):
    """counts[d, b] = how many of block b's records have digit d, the `width` bits from `shift` on.

    keys (n,) uint64; shift, width int32, width at most 8; tiles int64: consecutive tiles of 2,048 records that a block
    walks; counts (2**width, blocks) int64, overwritten.
    Launch: 256 threads a block, as many blocks as counts has columns.
    Deterministic: yes, exact.
    Source: Knuth, The Art of Computer Programming 3, 5.2.5 (radix sorting by counting).
    """
    histogram = cuda.shared.array((WARPS, BINS), np.int32)
    thread, block = U32(cuda.threadIdx.x), U32(cuda.blockIdx.x)
    warp, lane = thread // U32(32), U32(cuda.laneid)
    for w in range(WARPS):
        histogram[w, thread] = 0
    cuda.syncthreads()
    mask = U64((U64(1) << U64(width)) - U64(1))
    size = I64(keys.size)
    for tile in range(I64(block) * tiles, min((I64(block) + I64(1)) * tiles, (size + I64(TILE - 1)) // I64(TILE))):
        first = I64(tile * TILE + I64(warp) * SHARE)
        for item in range(ITEMS):
            t = I64(first + I64(item * 32) + I64(lane))
            inside = t < size
            number = digit(keys[U64(t if inside else 0)], shift, mask)
            same = U32(peers(number, width) & U32(cuda.ballot_sync(FULL, inside)))
            if inside and cuda.popc(U32(same & U32(cuda.lanemask_lt()))) == 0:
                histogram[warp, number] += cuda.popc(same)
            cuda.syncwarp(FULL)
    cuda.syncthreads()
    if thread <= U32(mask):
        total = I64(0)
        for w in range(WARPS):
            total += histogram[w, thread]
        counts[thread, block] = total


@device
def prefix_of_threads(value, parts):
    """The sum of value (int64) over the threads of the block before this one; parts (WARPS,) int64 in shared memory.

    All threads must arrive; between two calls there must be a barrier.
    """
    lane, warp = U32(cuda.laneid), U32(cuda.threadIdx.x) // U32(32)
    running = I64(value)
    for step in range(5):
        other = cuda.shfl_up_sync(FULL, running, U32(1 << step))
        running += other if lane >= U32(1 << step) else I64(0)
    if lane == U32(31):
        parts[warp] = running
    cuda.syncthreads()
    before = I64(running - value)
    for w in range(WARPS):
        before += parts[w] if U32(w) < warp else I64(0)
    return before


@kernel
def scan_digits(counts, totals):
    """counts[d, b] = what blocks before b have of digit d; totals[d] = what all have.

    counts (digits, blocks) int64, in place; totals (digits,) int64, overwritten.
    Launch: 256 threads a block, a block a digit.
    Deterministic: yes, exact.
    Source: ours.
    """
    parts = cuda.shared.array(WARPS, np.int64)
    last = cuda.shared.array(1, np.int64)
    row, thread = U32(cuda.blockIdx.x), U32(cuda.threadIdx.x)
    carried = I64(0)
    for first in range(0, counts.shape[1], THREADS):
        position = U32(first + thread)
        inside = position < U32(counts.shape[1])
        count = I64(counts[row, position]) if inside else I64(0)
        before = I64(carried + prefix_of_threads(count, parts))
        if inside:
            counts[row, position] = before
        if thread == U32(THREADS - 1):
            last[0] = before + count
        cuda.syncthreads()
        carried = I64(last[0])
        cuda.syncthreads()
    if thread == U32(0):
        totals[row] = carried


@factory
def make_scatter_digits(paired):
    """scatter_digits for keys alone, or (paired) for keys that each take a number with them."""
    spare = TILE if paired else 1

    @kernel
    def scatter_digits(keys, payload, shift, width, tiles, counts, totals, out_keys, out_payload):
        """The records in order of one digit: out_keys, out_payload = keys, payload, stably.

        keys, out_keys (n,) uint64; payload, out_payload (n,) uint32, not read unless paired; shift, width, tiles,
        counts (2**width, blocks) int64 and totals (2**width,) int64 as count_digits and scan_digits left them.
        Launch: as count_digits.
        Deterministic: yes, exact.
        Source: Merrill and Grimshaw, Parallel Processing Letters 21(2), 2011 (ranking by warps, tiles put in order).
        """
        ranks = cuda.shared.array((WARPS, BINS), np.int32)
        sorted_keys = cuda.shared.array(TILE, np.uint64)
        sorted_payload = cuda.shared.array(spare, np.uint32)
        base = cuda.shared.array(BINS, np.int64)
        start = cuda.shared.array(BINS, np.int32)
        parts = cuda.shared.array(WARPS, np.int64)
        items = cuda.local.array(ITEMS, np.uint64)
        extra = cuda.local.array(ITEMS, np.uint32)
        rank = cuda.local.array(ITEMS, np.int32)
        thread, block = U32(cuda.threadIdx.x), U32(cuda.blockIdx.x)
        warp, lane = thread // U32(32), U32(cuda.laneid)
        mask = U64((U64(1) << U64(width)) - U64(1))
        has_digit = thread <= U32(mask)
        size = I64(keys.size)
        base[thread] = prefix_of_threads(I64(totals[thread]) if has_digit else I64(0), parts)
        base[thread] += I64(counts[thread, block]) if has_digit else I64(0)
        for tile in range(I64(block) * tiles, min((I64(block) + I64(1)) * tiles, (size + I64(TILE - 1)) // I64(TILE))):
            for w in range(WARPS):
                ranks[w, thread] = 0
            cuda.syncthreads()
            first = I64(tile * TILE + I64(warp) * SHARE)
            for item in range(ITEMS):
                t = I64(first + I64(item * 32) + I64(lane))
                items[item] = keys[U64(t)] if t < size else U64(0xFFFFFFFFFFFFFFFF)
                if paired:
                    extra[item] = payload[U64(t)] if t < size else U32(0)
            for item in range(ITEMS):
                number = digit(items[item], shift, mask)
                same = peers(number, width)
                before = cuda.popc(U32(same & U32(cuda.lanemask_lt())))
                rank[item] = ranks[warp, number] + before
                cuda.syncwarp(FULL)
                if before == 0:
                    ranks[warp, number] += cuda.popc(same)
                cuda.syncwarp(FULL)
            cuda.syncthreads()
            earlier = 0
            for w in range(WARPS):
                count = ranks[w, thread]
                ranks[w, thread] = earlier
                earlier += count
            start[thread] = prefix_of_threads(I64(earlier), parts)
            cuda.syncthreads()
            for item in range(ITEMS):
                number = digit(items[item], shift, mask)
                place = U32(start[number] + ranks[warp, number] + rank[item])
                sorted_keys[place] = items[item]
                if paired:
                    sorted_payload[place] = extra[item]
            cuda.syncthreads()
            left = size - I64(tile) * I64(TILE)
            for item in range(ITEMS):
                place = U32(item * THREADS) + thread
                if I64(place) < left:
                    key = sorted_keys[place]
                    number = digit(key, shift, mask)
                    target = U64(base[number] + I64(place) - I64(start[number]))
                    out_keys[target] = key
                    if paired:
                        out_payload[target] = sorted_payload[place]
            cuda.syncthreads()
            base[thread] += earlier

    return scatter_digits


@kernel
def row_starts(keys, shift, width, starts):
    """starts[r] = the first record whose row, the `width` bits from `shift` on, is r or more; keys in order of rows.

    keys (n,) uint64; shift, width int32; starts (rows + 1,) int64, overwritten; n at least 1.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours (bisection, a thread a row: of many rows in a few keys no thread has more to write than others).
    """
    mask = U64((U64(1) << U64(width)) - U64(1))
    for row in range(I64(cuda.grid(1)), I64(starts.size), I64(cuda.gridsize(1))):
        starts[U64(row)] = first_of_row(keys, (U64(shift), mask, row), 0, keys.size)
