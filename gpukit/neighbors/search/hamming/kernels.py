"""GPU kernel of the search by Hamming distance; twins.py has it for the CPU."""

import numpy as np

from gpukit._cuda import cuda, device, kernel
from gpukit.neighbors.formulas import NOBODY, full_add

U32 = np.uint32
TILE = 64  # queries and items per block
SIDE = 16  # threads per side of the tile, each with PER x PER pairs
PER = 4
PAIRS = PER * PER
STEP = 15  # words staged at a time, a multiple of three
LOADERS = SIDE * SIDE // TILE  # threads that stage one item's words
PITCH = TILE + 8  # against bank conflicts


@device
def stage(codes, first, word, thread, tile):
    """tile[k, i] = codes[first + i, word + k], zero outside: TILE items, STEP words, transposed."""
    i = U32(thread // U32(LOADERS))
    item = U32(first + i)
    for k in range(U32(thread % U32(LOADERS)), U32(STEP), U32(LOADERS)):
        inside = item < U32(codes.shape[0]) and U32(word + k) < U32(codes.shape[1])
        tile[k, i] = codes[item, U32(word + k)] if inside else U32(0)


@device
def add_differences(queries, items, x, y, distance):
    """distance[i, j] += differing bits of the staged words; three words become two before they are counted."""
    for k in range(U32(0), U32(STEP), U32(3)):
        for i in range(PER):
            row = U32(y + SIDE * i)
            q0, q1, q2 = queries[k, row], queries[U32(k + 1), row], queries[U32(k + 2), row]
            for j in range(PER):
                item = U32(x + SIDE * j)
                ones, twos = full_add(q0 ^ items[k, item], q1 ^ items[U32(k + 1), item], q2 ^ items[U32(k + 2), item])
                distance[i * PER + j] += U32(cuda.popc(ones)) + U32(2) * U32(cuda.popc(twos))


@device
def write_tile(distance, rated, first, row0, item0, keys):
    """Write a thread's PER x PER distances: rows row0, row0 + SIDE, ... of keys, items item0, item0 + SIDE, ..."""
    for j in range(PER):
        item = U32(item0 + SIDE * j)
        if item < U32(keys.shape[1]):
            usable = rated[item]
            for i in range(PER):
                row = U32(row0 + SIDE * i)
                if row < U32(keys.shape[0]):
                    wanted = usable and rated[U32(first + row)] and U32(first + row) != item
                    keys[row, item] = distance[i * PER + j] if wanted else NOBODY


@kernel
def hamming_distances(codes, rated, first, keys):
    """keys[b, j] = differing bits between the codes of items first + b and j; 2**32 - 1 for the item itself.

    It is also 2**32 - 1 for a pair in which one item has no ratings.

    codes (N, W) uint32; rated (N,) uint8 or bool; first int, item of the first query row; keys (B, N) uint32, written.
    Launch: grid (ceil(N / 64), ceil(B / 64)), block 256.   Deterministic: yes, exact.
    Source: agreement over all p * q * G bits of Eq. (3); register tiles as in a matrix product.
    """
    queries = cuda.shared.array((STEP, PITCH), np.uint32)
    items = cuda.shared.array((STEP, PITCH), np.uint32)
    thread = U32(cuda.threadIdx.x)
    x, y = U32(thread % U32(SIDE)), U32(thread // U32(SIDE))
    row0, item0 = U32(cuda.blockIdx.y * TILE), U32(cuda.blockIdx.x * TILE)
    distance = cuda.local.array(PAIRS, np.uint32)
    for pair in range(PAIRS):
        distance[pair] = U32(0)
    for word in range(U32(0), U32(codes.shape[1]), U32(STEP)):
        stage(codes, U32(U32(first) + row0), U32(word), thread, queries)
        stage(codes, item0, U32(word), thread, items)
        cuda.syncthreads()
        add_differences(queries, items, x, y, distance)
        cuda.syncthreads()
    write_tile(distance, rated, U32(first), U32(row0 + y), U32(item0 + x), keys)
