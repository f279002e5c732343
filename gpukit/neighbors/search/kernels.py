"""GPU kernel of the search by Hamming distance; twins.py has it for the CPU."""

import numpy as np

from gpukit._cuda import cuda, device, kernel
from gpukit.neighbors.formulas import NOBODY, agreement, first_mate, in_list, table_code, table_hash
from gpukit.primitives.bit_matrix import bit_products
from gpukit.random import bits, shuffle_index

U32 = np.uint32
TILE = 128  # queries and items per block
BLOCK = 2 * TILE  # threads
ROWS, COLUMNS = 2, 8  # products of 16 queries and 8 items that a warp adds up
STEP = 16  # words staged at a time, two products' worth
PITCH = TILE + 8  # against bank conflicts
MATCH_LANES = 8  # threads that process a bucket together


@device
def stage(codes, first, word, thread, tile):
    """tile[k, i] = codes[first + i, word + k], zero outside: TILE items, STEP words, transposed."""
    for slot in range(U32(thread), U32(TILE * STEP), U32(BLOCK)):
        k, i = U32(slot % U32(STEP)), U32(slot // U32(STEP))
        item = U32(first + i)
        inside = item < U32(codes.shape[0]) and U32(word + k) < U32(codes.shape[1])
        tile[k, i] = codes[item, U32(word + k)] if inside else U32(0)


@device
def bits_of_item(queries, items, thread):
    """Return the set bits of the staged words of a query, the thread's among the first TILE, or of an item."""
    count = U32(0)
    for k in range(U32(0), U32(STEP)):
        word = queries[k, thread] if thread < U32(TILE) else items[k, U32(thread - U32(TILE))]
        count += U32(cuda.popc(U32(word)))
    return count


@device
def add_common_bits(queries, items, k, lane, y, x, common):
    """common[i, j] += common bits of eight staged words, from k on, of queries from y on and items from x on."""
    g, t = U32(lane // U32(4)), U32(lane % U32(4))
    low, high = U32(k + t), U32(k + t + U32(4))
    for j in range(COLUMNS):
        item = U32(x + U32(8 * j) + g)
        b = (items[low, item], items[high, item])
        for i in range(ROWS):
            row = U32(y + U32(16 * i) + g)
            a = (
                queries[low, row],
                queries[low, U32(row + U32(8))],
                queries[high, row],
                queries[high, U32(row + U32(8))],
            )
            sums = (common[i, j, 0], common[i, j, 1], common[i, j, 2], common[i, j, 3])
            sums = bit_products(lane, a, b, sums)
            for part in range(4):
                common[i, j, part] = sums[part]


@device
def write_tile(common, counts, rated, first, corner, place, keys):
    """Write a thread's distances: the bits that are set in one of two codes, not in both.

    corner: of the tile in keys, (row, item); place: the thread's first (row, item) in it.
    """
    for i in range(ROWS):
        for half in range(2):
            y = U32(place[0] + U32(16 * i + 8 * half))
            row = U32(corner[0] + y)
            if row < U32(keys.shape[0]):
                usable = rated[U32(first + row)]
                for j in range(COLUMNS):
                    for side in range(2):
                        x = U32(place[1] + U32(8 * j + side))
                        item = U32(corner[1] + x)
                        if item < U32(keys.shape[1]):
                            both = common[i, j, 2 * half + side]
                            wanted = usable and rated[item] and U32(first + row) != item
                            distance = U32(U32(counts[y] + counts[U32(TILE) + x]) - U32(both + both))
                            keys[row, item] = distance if wanted else NOBODY


@kernel
def hamming_distances(codes, rated, first, keys):
    """keys[b, j] = differing bits between the codes of items first + b and j; 2**32 - 1 for the item itself.

    It is also 2**32 - 1 for a pair in which one item has no ratings.

    codes (N, W) uint32; rated (N,) uint8 or bool; first int, item of the first query row; keys (B, N) uint32, written.
    Launch: grid (ceil(N / 128), ceil(B / 128)), block 256.   Deterministic: yes, exact.
    Source: agreement over all p * q * G bits of Eq. (3); |a xor b| = |a| + |b| - 2 |a and b|, the last a product of bit
    matrices on tensor cores.
    """
    queries = cuda.shared.array((STEP, PITCH), np.uint32)
    items = cuda.shared.array((STEP, PITCH), np.uint32)
    counts = cuda.shared.array(BLOCK, np.uint32)
    thread = U32(cuda.threadIdx.x)
    lane, warp = U32(thread % U32(32)), U32(thread // U32(32))
    warps = U32(2)  # of a block over its items; four over its queries
    y, x = U32(U32(warp // warps) * U32(16 * ROWS)), U32(U32(warp % warps) * U32(8 * COLUMNS))
    corner = U32(cuda.blockIdx.y * TILE), U32(cuda.blockIdx.x * TILE)
    common = cuda.local.array((ROWS, COLUMNS, 4), np.uint32)
    for i in range(ROWS):
        for j in range(COLUMNS):
            for part in range(4):
                common[i, j, part] = U32(0)
    count = U32(0)
    for word in range(U32(0), U32(codes.shape[1]), U32(STEP)):
        stage(codes, U32(U32(first) + corner[0]), U32(word), thread, queries)
        stage(codes, corner[1], U32(word), thread, items)
        cuda.syncthreads()
        count += bits_of_item(queries, items, thread)
        for k in range(U32(0), U32(STEP), U32(8)):
            if U32(word + k) < U32(codes.shape[1]):
                add_common_bits(queries, items, U32(k), lane, y, x, common)
        cuda.syncthreads()
    counts[thread] = count
    cuda.syncthreads()
    place = U32(y + lane // U32(4)), U32(x + U32(2) * U32(lane % U32(4)))
    write_tile(common, counts, rated, U32(first), corner, place, keys)


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
def fill_slots(indices, values, first, worst, key, half, lists):
    """Lines 10-12 of Algorithm 1: the selected items with a key below worst, their scores, and the random supplement.

    indices (B, K) int32 and values (B, K) uint32: the selection of rows first..first + B; worst int: the first key of a
    pair that is not a pair of neighbours; key uint32 and half int: of random.shuffle_index; lists: plan.Lists of N > K
    items, rows first..first + B written, scores in (0, 1] or NaN.
    Launch: grid ceil(B / block), any block.   Deterministic: yes, exact.   Source: Algorithm 1.
    """
    row = cuda.grid(1)
    if row >= indices.shape[0]:
        return
    neighbors, scores, random_slots = lists
    item, k, result, n_items = first + row, indices.shape[1], 0, neighbors.shape[0]
    while result < k and values[row, result] < worst:
        neighbors[item, result] = indices[row, result]
        scores[item, result] = agreement(values[row, result], U32(worst))
        result += 1
    random_slots[item] = k - result
    own_key, slot, index = bits(key, item), result, 0
    while slot < k:
        candidate = np.int32(shuffle_index(own_key, index, half, n_items))
        index += 1
        if candidate != item and not in_list(candidate, neighbors, item, result):
            neighbors[item, slot] = candidate
            scores[item, slot] = np.float32(np.nan)
            slot += 1
