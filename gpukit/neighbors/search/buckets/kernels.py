"""GPU kernels of the search by buckets; twins.py has each of them for the CPU."""

import numpy as np

from gpukit._cuda import cuda, device, kernel
from gpukit.neighbors.search.buckets.formulas import first_mate, table_code, table_hash

U32 = np.uint32
MATCH_LANES = 8  # threads that process a bucket together


@kernel
def fill(array, value):
    """array[...] = value.   array (n,) uint32, overwritten; value int.

    Launch: any grid and block, strided.   Deterministic: yes, exact.   Source: none.
    """
    for t in range(cuda.grid(1), array.size, cuda.gridsize(1)):
        array[t] = value


@device
def table_and_thread(count):
    """Return (table, the thread's number in it) of a launch with blocks of `count` threads for each table."""
    blocks = (count + cuda.blockDim.x - 1) // cuda.blockDim.x
    table = cuda.blockIdx.x // blocks
    return table, (cuda.blockIdx.x - table * blocks) * cuda.blockDim.x + cuda.threadIdx.x


@kernel
def table_hashes(codes, rated, width, hashes):
    """Line 6 of Algorithm 1: the sort keys of the items in each table; an item without ratings comes last.

    codes (N, W) uint32; rated (N,) uint8 or bool; width int, p * G; hashes (q, N) float32, overwritten.
    Launch: grid q * ceil(N / block), any block.   Deterministic: yes, exact.   Source: Algorithm 1.
    """
    table, item = table_and_thread(codes.shape[0])
    if item < codes.shape[0]:
        code = table_code(codes, item, table, width)
        hashes[table, item] = table_hash(code) if rated[item] else np.float32(np.inf)


@kernel
def bucket_matches(codes, rated, width, hashes, mates, first, keys):
    """Lines 7-9 of Algorithm 1: subtract 1 from keys[b, j] for each fine hashing shared by items first + b and j.

    They share it when all p * G bits agree.

    codes, rated, width and hashes as in table_hashes; mates (q, N) int32: the items of each table by ascending hash;
    first int, item of the first query row; keys (B, N) uint32, q before.
    Launch: grid q * ceil(8 * B / block), block a multiple of 8.   Deterministic: yes, exact (integer atomics).
    Source: Algorithm 1.
    """
    table, thread = table_and_thread(MATCH_LANES * keys.shape[0])
    row, lane = thread // MATCH_LANES, thread % MATCH_LANES
    if row >= keys.shape[0] or not rated[first + row]:
        return
    code, key = table_code(codes, first + row, table, width), hashes[table, first + row]
    t = first_mate(hashes, mates, table, key) + lane
    while t < mates.shape[1] and hashes[table, mates[table, t]] == key:
        mate = mates[table, t]
        if mate != first + row and table_code(codes, mate, table, width) == code:
            cuda.atomic.sub(keys, (row, mate), U32(1))
        t += MATCH_LANES
