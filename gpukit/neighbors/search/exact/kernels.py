"""GPU kernel of the exact search; twins.py has it for the CPU."""

import functools

import numpy as np

from gpukit._cuda import cuda, device, kernel
from gpukit.neighbors.formulas import NOBODY
from gpukit.neighbors.search.exact.formulas import packing, pair_key, wide
from gpukit.primitives.search import lower_bound

I32, U32, U64, I64 = np.int32, np.uint32, np.uint64, np.int64
FULL = U32(0xFFFFFFFF)
WARP = 32
LEVELS = 256
REGISTERS = 32  # four blocks of 512 per multiprocessor: 0.49 s for Netflix's shape (H200), 0.57 s without this limit
WORDS = 3  # words of a pair's sums: own, other, both


@device
def add_row(items, codes, numbers, span, first_item, x, shift, sums):
    """Add the ratings of one user, whose rating of the query is x, for the items of the tile: the span of their row."""
    lane, tile = U32(cuda.threadIdx.x % WARP), U32(sums.shape[1])
    own, one = U32(U32(x * x) + U32(x << shift)), U32(U32(1) << shift)
    for t in range(span[0] + I64(lane), span[1], I64(WARP)):
        j, y = U32(items[U64(t)] - first_item), numbers[codes[U64(t)]]
        if j < tile:
            cuda.atomic.add(sums, (0, j), own)
            cuda.atomic.add(sums, (1, j), U32(U32(y * y) + U32(y << shift)))
            cuda.atomic.add(sums, (2, j), U32(U32(x * y) + one))


@device
def span_of(rows, items, user, first_item, n_tile):
    """Return the range of a user's row within the tile: first and last rating + 1."""
    begin, end = rows[U64(user)], rows[U64(user) + U64(1)]
    begin = lower_bound(items, first_item, begin, end)
    return begin, lower_bound(items, I64(first_item + n_tile), begin, end)


@device
def add_users(users, levels, rows, items, codes, numbers, part, first_item, shift, sums):
    """Add the users part[0]:part[1] of the query's column; each lane loads a user's row, all lanes of the warp process
    it."""
    lane = U32(cuda.threadIdx.x % WARP)
    for group in range(part[0], part[1], WARP):
        t, begin, end, x = I64(group) + I64(lane), I64(0), I64(0), I32(0)
        if t < part[1]:
            begin, end = span_of(rows, items, users[U64(t)], first_item, sums.shape[1])
            x = I32(numbers[levels[U64(t)]])
        for other in range(min(I64(WARP), part[1] - group)):
            span = cuda.shfl_sync(FULL, begin, other), cuda.shfl_sync(FULL, end, other)
            add_row(items, codes, numbers, span, first_item, U32(cuda.shfl_sync(FULL, x, other)), shift, sums)


@device
def clear(count, source, sums, numbers, totals):
    """Zero the sums of a block and the totals of its threads, and load the whole numbers of the levels."""
    for t in range(U32(cuda.threadIdx.x), U32(source.size), U32(cuda.blockDim.x)):
        numbers[t] = source[t]
    for k in range(count):
        for word in range(WORDS):
            sums[word, place(k)] = U32(0)
            totals[word, k] = I64(0)


@device
def place(k):
    """Return the position of the thread's item number k in the tile."""
    return U32(cuda.threadIdx.x + k * cuda.blockDim.x)


@device
def take_sums(count, sums, shift, totals):
    """Move a part's sums of the thread's items to its totals."""
    for k in range(count):
        for word in range(WORDS):
            totals[word, k] += wide(sums[word, place(k)], shift)
            sums[word, place(k)] = U32(0)


@device
def write_keys(count, totals, query, row, first_item, keys):
    """Keys of the thread's items."""
    for k in range(count):
        item, key = I64(first_item + place(k)), pair_key(totals[0, k], totals[1, k], totals[2, k])
        keys[row, item] = NOBODY if item == query else key


@functools.cache
def make_pair_distances(block_size, per_thread):
    """Return pair_distances for blocks of block_size threads (a multiple of 32) and tiles of block_size * per_thread
    items."""
    tile, warps = block_size * per_thread, block_size // WARP

    @kernel(fastmath=False, max_registers=REGISTERS)
    def pair_distances(starts, users, levels, rows, items, codes, levels_whole, first, keys):
        """keys[b, j] of the shrunk correlation of items first + b and j, over the users that rated both.

        The key is 2**31 (1 - S) rounded down, and 2**32 - 1 for S <= 0 and for the item itself.

        starts (N + 1,) int64, users (n,) int32 and levels (n,) uint8: ratings by item; rows (M + 1 or more,) int64,
        items (n,) int32 and codes (n,) uint8: the same by user, items ascending; levels_whole (L,) uint32: a level as a
        whole number, ascending from 0; first int, item of the first query row; keys (B, N) uint32, written.
        Launch: grid (ceil(N / tile), B), block block_size.   Deterministic: yes, exact (integer atomics).
        Source: the paper's S = n / (n + lambda_rho) rho; a block sums a tile of items for one query in shared memory.
        """
        sums = cuda.shared.array((WORDS, tile), np.uint32)
        numbers = cuda.shared.array(LEVELS, np.uint32)
        totals = cuda.local.array((WORDS, per_thread), np.int64)
        row, first_item = I64(cuda.blockIdx.y), I64(cuda.blockIdx.x) * I64(tile)
        query, warp = I64(first) + row, I64(cuda.threadIdx.x // WARP)
        users_a_part, shift = packing(I64(levels_whole[levels_whole.size - 1]))
        left = min(I64(tile), keys.shape[1] - first_item) - I64(cuda.threadIdx.x)
        own = I32((max(left, I64(0)) + block_size - 1) // block_size)  # a constant would put totals into registers
        clear(own, levels_whole, sums, numbers, totals)
        cuda.syncthreads()
        end = starts[U64(query) + U64(1)]
        for begin in range(starts[U64(query)], end, I64(users_a_part)):
            stop = min(I64(begin + I64(users_a_part)), end)
            share = I64((stop - begin + warps - 1) // warps)
            mine = begin + warp * share
            part = min(mine, stop), min(mine + share, stop)
            add_users(users, levels, rows, items, codes, numbers, part, first_item, U32(shift), sums)
            cuda.syncthreads()
            take_sums(own, sums, shift, totals)
            cuda.syncthreads()
        write_keys(own, totals, query, row, first_item, keys)

    return pair_distances
