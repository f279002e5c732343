"""GPU kernel of the search by Hamming distance; twins.py has it for the CPU."""

import numpy as np

from gpukit._cuda import cuda, device, kernel
from gpukit.neighbors.formulas import NOBODY, agreement, first_mate, full_add, in_list, table_code, table_hash
from gpukit.random import bits, shuffled

U32 = np.uint32
TILE = 64  # queries and items per block
SIDE = 16  # threads per side of the tile, each with PER x PER pairs
PER = 4
PAIRS = PER * PER
STEP = 15  # words staged at a time, a multiple of three
LOADERS = SIDE * SIDE // TILE  # threads that stage one item's words
PITCH = TILE + 8  # against bank conflicts
MATCH_LANES = 8  # threads that process a bucket together


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


@kernel(fastmath=False)
def fill_slots(indices, values, first, worst, key, half, n_items, neighbors, scores, random_slots):
    """Lines 10-12 of Algorithm 1: the selected items with a key below worst, their scores, and the random supplement.

    indices (B, K) int32 and values (B, K) uint32: the selection of rows first..first + B; worst int: the first key of a
    pair that is not a pair of neighbours; key uint32 and half int: of random.shuffled; n_items int, N > K; neighbors
    (N, K) int32, scores (N, K) float32 in (0, 1] or NaN and random_slots (N,) int32, rows first..first + B written.
    Launch: grid ceil(B / block), any block.   Deterministic: yes, exact.   Source: Algorithm 1.
    """
    row = cuda.grid(1)
    if row >= indices.shape[0]:
        return
    item, k, found = first + row, indices.shape[1], 0
    while found < k and values[row, found] < worst:
        neighbors[item, found] = indices[row, found]
        scores[item, found] = agreement(values[row, found], U32(worst))
        found += 1
    random_slots[item] = k - found
    own_key, slot, index = bits(key, item), found, 0
    while slot < k:
        candidate = np.int32(shuffled(own_key, index, half, n_items))
        index += 1
        if candidate != item and not in_list(candidate, neighbors, item, found):
            neighbors[item, slot] = candidate
            scores[item, slot] = np.float32(np.nan)
            slot += 1
