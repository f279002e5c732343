"""GPU kernels of the searches and the supplement; search_twins.py has them for the CPU."""

import numpy as np

from gpukit._cuda import cuda, device, factory, kernel
from gpukit.neighbors.formulas import (
    NOBODY,
    agreement,
    cosine_key,
    first_mate,
    in_list,
    packing,
    pair_key,
    table_code,
    table_hash,
    widen,
)
from gpukit.primitives.bit_matrix import bit_products
from gpukit.primitives.search import lower_bound
from gpukit.primitives.warp import FULL, WARP, group_sum
from gpukit.random import bits, shuffle_index

I32, U32, U64, I64 = np.int32, np.uint32, np.uint64, np.int64
FREE = U32(0xFFFFFFFF)  # a slot of the hash table
SPREAD = U32(2654435769)  # 2**32 over the golden ratio: Fibonacci hashing
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


@kernel
def count_pairs(starts, users, rows, pairs):
    """pairs[i] = the ratings of all users of item i: the work of a query, and a bound of the items that it meets.

    starts (N + 1,) int64 and users (n,) int32: users by item; rows (M + 1 or more,) int64: of the same ratings by user;
    pairs (N,) int64, overwritten.
    Launch: grid ceil(32 N / block), any block of whole warps.   Deterministic: yes, exact.   Source: a warp per item.
    """
    thread = I64(cuda.grid(1))
    item, lane = thread // WARP, thread % WARP
    if item < pairs.size:
        total = I64(0)
        for t in range(starts[U64(item)] + lane, starts[U64(item) + U64(1)], I64(WARP)):
            user = U64(users[U64(t)])
            total += rows[user + U64(1)] - rows[user]
        total = group_sum(total, WARP)
        if lane == 0:
            pairs[item] = total


@device
def slot_of(sums, table, item, slots):
    """Return the slot of an item in the hash table sums[table : table + slots], slots a power of two; claim it if new.

    The table must have a free slot.
    """
    slot = U32(U32(item * SPREAD) >> U32(16)) & U32(slots - 1)
    while True:
        before = cuda.atomic.cas(sums, table + slot, FREE, U32(item))
        if before == FREE or before == U32(item):
            return slot
        slot = U32(slot + U32(1)) & U32(slots - 1)


@device
def add_row(row, span, numbers, x, shift, view, sums, ratings):
    """Add the ratings of one user, whose rating of the query is x, for the items of the view: the span of their row."""
    (items, codes), (low, count, pitch, table) = row, view
    own, value = U32(U32(x * x) + U32(x << shift)), U32(U32(1) << shift)
    for t in range(span[0] + I64(cuda.laneid), span[1], I64(WARP)):
        j = U32(items[U64(t)] - low)
        if j < count:
            slot = j if table == 0 else slot_of(sums, table, j, pitch)
            if ratings:
                y = numbers[codes[U64(t)]]
                cuda.atomic.add(sums, slot, own)
                cuda.atomic.add(sums, pitch + slot, U32(U32(y * y) + U32(y << shift)))
                cuda.atomic.add(sums, U32(2) * pitch + slot, U32(U32(x * y) + value))
            else:
                cuda.atomic.add(sums, slot, U32(1))


@device
def span_of(rows, items, user, view):
    """Return the range of a user's row within the view: first and last rating + 1."""
    low, count, _, table = view
    begin, end = rows[U64(user)], rows[U64(user) + U64(1)]
    if table == 0:
        begin = lower_bound(items, low, begin, end)
        end = lower_bound(items, I64(low) + I64(count), begin, end)
    return begin, end


@device
def add_users(column, rows, row, numbers, part, shift, view, sums, ratings):
    """Add the users part[0]:part[1] of the query's column; each lane loads a user's row, all lanes of the warp process
    it."""
    users, levels = column
    for group in range(part[0], part[1], WARP):
        t, begin, end, x = I64(group) + I64(cuda.laneid), I64(0), I64(0), I32(0)
        if t < part[1]:
            begin, end = span_of(rows, row[0], users[U64(t)], view)
            if ratings:
                x = I32(numbers[levels[U64(t)]])
        for other in range(min(I64(WARP), part[1] - group)):
            span = cuda.shfl_sync(FULL, begin, other), cuda.shfl_sync(FULL, end, other)
            add_row(row, span, numbers, U32(cuda.shfl_sync(FULL, x, other)), shift, view, sums, ratings)


@device
def clear(count, source, view, sums, numbers, totals):
    """Zero the sums of a block and the totals of its threads' `count` items, and load the levels' whole numbers."""
    _, _, _, table = view
    for t in range(U32(cuda.threadIdx.x), U32(source.size), U32(cuda.blockDim.x)):
        numbers[t] = source[t]
    for t in range(U32(cuda.threadIdx.x), U32(sums.size), U32(cuda.blockDim.x)):
        sums[t] = FREE if table != 0 and t >= table else U32(0)
    for k in range(count):
        for word in range(totals.shape[0]):
            totals[word, k] = I64(0)


@device
def place(k):
    """Return the slot of the thread's item number k."""
    return U32(cuda.threadIdx.x + k * cuda.blockDim.x)


@device
def take_sums(count, sums, pitch, shift, totals):
    """Move a part's sums of the thread's items to its totals."""
    for k in range(count):
        if place(k) < pitch:
            for word in range(totals.shape[0]):
                position = U32(U32(word) * pitch + place(k))
                totals[word, k] += widen(sums[position], shift)
                sums[position] = U32(0)


@device
def key_of(k, item, query, pitch, counted, starts, ratings):
    """Return the key of the thread's item number k; NOBODY if it is no neighbour."""
    (sums, totals, shift, earlier), slot = counted, place(k)
    if item == query or (not ratings and sums[slot] == U32(0)):
        return NOBODY
    if ratings:
        both = widen(sums[U32(2) * pitch + slot], shift)
        own, other = widen(sums[slot], shift), widen(sums[pitch + slot], shift)
        if k < earlier:
            own, other, both = own + totals[0, k], other + totals[1, k], both + totals[2, k]
        return pair_key(own, other, both)
    own, other = starts[U64(query) + U64(1)] - starts[U64(query)], starts[U64(item) + U64(1)] - starts[U64(item)]
    return cosine_key(own, other, I64(sums[slot]))


@device
def list_items(count, counted, query, row, view, starts, lists, ratings):
    """Append the keys and the numbers of the thread's items to the row's list.

    counted: the sums of the last part of the users, the totals of the parts before, the shift of the sums, and for how
    many items there are totals.
    """
    low, target, pitch, table = view
    for k in range(count):
        slot, key, item = place(k), NOBODY, U32(0)
        if slot < (target if table == 0 else pitch):
            item = U32(low + slot) if table == 0 else counted[0][table + slot]
            key = key_of(k, I64(item), query, pitch, counted, starts, ratings)
        votes = U32(cuda.ballot_sync(FULL, key != NOBODY))
        first = I32(0)
        if cuda.laneid == 0 and votes != U32(0):
            first = I32(cuda.atomic.add(lists.sizes, row, I32(cuda.popc(votes))))
        first = cuda.shfl_sync(FULL, first, 0)
        if key != NOBODY:
            before = I32(cuda.popc(U32(votes & U32(cuda.lanemask_lt()))))
            lists.entries[lists.begins[U64(row)] + I64(first + before)] = U64(U64(key) << U64(32)) | U64(item)


@factory
def make_list_pairs(block_size, per_thread, ratings):
    """Return list_pairs for blocks of block_size threads (a multiple of 32) and tiles of block_size * per_thread items.

    ratings: whether keys are correlations of ratings, instead of cosines of clicks.
    """
    tile, warps, words = block_size * per_thread, block_size // WARP, 3 if ratings else 1
    size, slots = words * tile, 1 << ((words * tile // (words + 1)).bit_length() - 1)
    most = 3 * slots // 4  # items in the hash table, whose slots have a word more
    most_levels = 256

    # 32 registers: four blocks of 512 per multiprocessor; with 40 Netflix's shape takes a tenth longer (H200)
    @kernel(fastmath=False, max_registers=32)
    def list_pairs(by_item, by_user, levels_whole, first, lists):
        """Append to list b every pair of the item first + b that is a pair of neighbours: its key and the other item.

        Ratings: the shrunk correlation S over the users that rated both, if above 0; key 2**31 (1 - S) rounded down.
        Clicks: the damped cosine of the users, if they share any; the key of formulas.cosine_key.

        by_item, by_user: plan.Compressed ratings of the N items and, items ascending, of the users; levels_whole (L,)
        uint32: a level as a whole number, ascending from 0; empty for clicks, whose codes are not read. first int, item
        of the first query row; lists: plan.PairLists, each long enough for the lower of N and count_pairs, written in
        any order; sizes are 0 before.
        Launch: grid (B, ceil(N / tile)), block block_size.
        Deterministic: yes, exact (integer atomics), but for the order of a list.
        Source: the paper's S = n / (n + lambda_rho) rho; a block sums a tile of items for one query in shared memory,
        or in a hash table all items of a query that meets few.
        """
        sums = cuda.shared.array(size, np.uint32)
        numbers = cuda.shared.array(most_levels, np.uint32)
        totals = cuda.local.array((words, per_thread), np.int64)
        starts, begins = by_item.starts, lists.begins
        row, n_items = I64(cuda.blockIdx.x), I64(starts.size - 1)
        query, warp = I64(first) + row, I64(cuda.threadIdx.x // WARP)
        few = n_items > tile and begins[U64(row) + U64(1)] - begins[U64(row)] <= most
        if few and cuda.blockIdx.y > 0:
            return
        low = I32(cuda.blockIdx.y * tile)
        view = low, U32(n_items if few else min(I64(tile), n_items - low)), U32(tile), U32(0)
        if few:
            view = low, U32(n_items), U32(slots), U32(words * slots)
        users_a_part, shift = packing(I64(levels_whole[levels_whole.size - 1])) if ratings else (I64(1 << 31), 0)
        # a constant would put totals into registers
        own = I32((I64(slots if few else view[1]) + block_size - 1) // block_size)
        end, column = starts[U64(query) + U64(1)], (by_item.others, by_item.codes)
        # reading totals takes longer than the sums, so a single part has none
        earlier = own if end - starts[U64(query)] > users_a_part else I32(0)
        clear(earlier, levels_whole, view, sums, numbers, totals)
        cuda.syncthreads()
        rows = by_user.others, by_user.codes
        for begin in range(starts[U64(query)], end, I64(users_a_part)):
            stop = min(I64(begin + I64(users_a_part)), end)
            share = I64((stop - begin + warps - 1) // warps)
            index = begin + warp * share
            part = min(index, stop), min(index + share, stop)
            add_users(column, by_user.starts, rows, numbers, part, U32(shift), view, sums, ratings)
            cuda.syncthreads()
            if stop < end:
                take_sums(earlier, sums, view[2], U32(shift), totals)
                cuda.syncthreads()
        list_items(own, (sums, totals, U32(shift), earlier), query, row, view, starts, lists, ratings)

    return list_pairs
