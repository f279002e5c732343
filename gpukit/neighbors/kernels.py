"""GPU kernels of simLSH. twins.py has each of them for the CPU, under the same name; gpu.py launches them.

A thread of the hashing owns one 32-bit word of a code, hence 32 counters, held bit-sliced (formulas.py): a rating costs
its hash and two or three logic operations, not 32 additions. Shared memory serves as indexable registers there: no
thread reads another's.
"""

import functools

import numpy as np

from gpukit._cuda import cuda, device, kernel
from gpukit.neighbors.formulas import (
    NOBODY,
    add_carry,
    add_eight,
    agreement,
    bit_length,
    compare_slice,
    first_mate,
    fold,
    full_add,
    half_add,
    piece_of,
    shuffled,
    table_hash,
    used_bits,
)
from gpukit.random import bits

U32 = np.uint32
U64 = np.uint64
COUNT_SLICES = 12
TILE = 64  # queries and items a block of hamming_distances
SIDE = 16  # threads a side of the tile, each with PER x PER pairs
PER = 4
PAIRS = PER * PER
STEP = 15  # words staged at a time, a multiple of three
LOADERS = SIDE * SIDE // TILE  # threads that stage one item's words
PITCH = TILE + 8  # against bank conflicts
MATCH_LANES = 8  # threads that walk one bucket together


@device
def user_word(users, i, stop, key, flip):
    """The hash word of the user of rating i, or nothing past the end of the run."""
    return U32(bits(key, users[U64(i)]) ^ flip) if i < stop else U32(0)


@device
def eight_words(users, i, stop, key, flip, low):
    """Add the words of ratings i..i+7 (those before stop) to low; (ones, twos, fours, carry)."""
    return add_eight(
        low,
        user_word(users, i, stop, key, flip),
        user_word(users, i + 1, stop, key, flip),
        user_word(users, i + 2, stop, key, flip),
        user_word(users, i + 3, stop, key, flip),
        user_word(users, i + 4, stop, key, flip),
        user_word(users, i + 5, stop, key, flip),
        user_word(users, i + 6, stop, key, flip),
        user_word(users, i + 7, stop, key, flip),
    )


@device
def count_run(users, begin, stop, key, flip, count, lane):
    """Bit slices, into count[:, lane], of how often each bit of the word is set over the run users[begin:stop]."""
    zero = U32(0)
    low = (zero, zero, zero)
    high = (zero, zero, zero, zero, zero, zero, zero, zero, zero)
    whole = begin + ((stop - begin) >> 3 << 3)
    for i in range(begin, whole, 8):
        ones, twos, fours, carry = eight_words(users, i, i + 8, key, flip, low)
        low, high = (ones, twos, fours), add_carry(high, carry)
    if whole < stop:
        ones, twos, fours, carry = eight_words(users, whole, stop, key, flip, low)
        low, high = (ones, twos, fours), add_carry(high, carry)
    count[0, lane], count[1, lane], count[2, lane] = low
    count[3, lane], count[4, lane], count[5, lane] = high[0], high[1], high[2]
    count[6, lane], count[7, lane], count[8, lane] = high[3], high[4], high[5]
    count[9, lane], count[10, lane], count[11, lane] = high[6], high[7], high[8]


@device
def add_shifted(count, width, total, shift, lane):
    """total[:, lane] += count[:width, lane] * 2**shift, bit-sliced."""
    carry = U32(0)
    for s in range(U32(width)):
        total[U32(s + shift), lane], carry = full_add(total[U32(s + shift), lane], count[s, lane], carry)
    s = U32(shift + width)
    while carry:  # ends below `slices`: the whole sum fits
        total[s, lane], carry = half_add(total[s, lane], carry)
        s = U32(s + 1)


@device
def run_end(levels, begin, end):
    """Where the run of equal levels that starts at begin ends (binary search in begin..end)."""
    level, low, high = levels[U64(begin)], begin + 1, end
    while low < high:
        middle = (low + high) >> 1
        if levels[U64(middle)] == level:
            low = middle + 1
        else:
            high = middle
    return low


@device
def reached(total, threshold, slices, lane):
    """The word of bits whose counter in total[:, lane] is at least threshold."""
    answer = NOBODY
    for s in range(U32(slices)):
        answer = compare_slice(total[s, lane], (threshold >> np.int64(s)) & 1, answer)
    return answer


@functools.cache
def make_hash_columns(threads, slices):
    """hash_columns for blocks of `threads` threads and sums of `slices` bits."""

    @kernel
    def hash_columns(users, levels, weights, keys, units, n_bits, codes, partials, totals):
        """Eq. (3): word w of item j's code, bit g = [sum over its ratings of Psi(r) * (+1 or -1 by bit g of H_i) >= 0].

        users (n,) int32; levels (n,) uint8, rising within a column; weights (L,) int64, Psi of a level; keys (W,)
        uint32, a word's random key; units (U, 4) int64: item, begin, end, slot (at most 4,095 ratings each); n_bits
        int, bits of a code; codes (N, W) uint32, rows of units with slot -1 written; partials (S, slices, W) uint32 and
        totals (S,) int64: the bit-sliced sum and the sum of |weight| of the units with a slot.
        Launch: grid (U, ceil(W / threads)), block threads.   Deterministic: yes, exact (integers).
        Source: Eq. (3) and lines 3-5 of Algorithm 1; the counting is a carry-save adder tree.
        """
        total = cuda.shared.array((slices, threads), np.uint32)
        count = cuda.shared.array((COUNT_SLICES, threads), np.uint32)
        lane, unit = U32(cuda.threadIdx.x), U32(cuda.blockIdx.x)
        word = U32(cuda.blockIdx.y * threads + lane)
        if word >= keys.size:
            return
        item, begin, end, slot = units[unit, 0], units[unit, 1], units[unit, 2], units[unit, 3]
        for s in range(U32(slices)):
            total[s, lane] = U32(0)
        whole_weight = np.int64(0)
        while begin < end:
            stop, weight = run_end(levels, begin, end), weights[levels[U64(begin)]]
            count_run(users, begin, stop, keys[word], NOBODY if weight < 0 else U32(0), count, lane)
            weight = abs(weight)
            for b in range(bit_length(weight)):
                if (weight >> b) & 1:
                    add_shifted(count, bit_length(stop - begin), total, b, lane)
            whole_weight += weight * (stop - begin)
            begin = stop
        if slot < 0:
            codes[U64(item), word] = reached(total, (whole_weight + 1) >> 1, slices, lane) & used_bits(word, n_bits)
            return
        totals[U64(slot)] = whole_weight
        for s in range(U32(slices)):
            partials[U64(slot), s, word] = total[s, lane]

    return hash_columns


@functools.cache
def make_join_chunks(threads, slices):
    """join_chunks for blocks of `threads` threads and sums of `slices` bits."""

    @kernel
    def join_chunks(joins, n_bits, partials, totals, codes):
        """The codes of columns that were cut: their units' bit-sliced sums added up, then the signs of Eq. (3).

        joins (J, 3) int64: item, first slot, last slot + 1; n_bits int; partials (S, slices, W) uint32; totals (S,)
        int64; codes (N, W) uint32, rows of these items written.
        Launch: grid (J, ceil(W / threads)), block threads.   Deterministic: yes, exact (integers).
        Source: Eq. (3); a ripple adder on 32 counters at once.
        """
        total = cuda.shared.array((slices, threads), np.uint32)
        lane, join = U32(cuda.threadIdx.x), U32(cuda.blockIdx.x)
        word = U32(cuda.blockIdx.y * threads + lane)
        if word >= partials.shape[2]:
            return
        for s in range(U32(slices)):
            total[s, lane] = U32(0)
        whole_weight = np.int64(0)
        for slot in range(joins[join, 1], joins[join, 2]):
            carry = U32(0)
            for s in range(U32(slices)):
                total[s, lane], carry = full_add(total[s, lane], partials[U64(slot), s, word], carry)
            whole_weight += totals[U64(slot)]
        answer = reached(total, (whole_weight + 1) >> 1, slices, lane)
        codes[U64(joins[join, 0]), word] = answer & used_bits(word, n_bits)

    return join_chunks


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
    """distance[i, j] += differing bits of the staged words; three words are added up to two before they are counted."""
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

    The same for a pair in which one has no ratings.

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
def table_code(codes, item, table, width):
    """The bits of item's code that belong to one fine hashing (width = p * G of them) as 64 bits; see formulas.fold."""
    code = U64(0)
    for done in range(0, width, 32):
        start = table * width + done
        here = min(32, width - done)
        word, shift = start >> 5, start & 31
        after = codes[item, word + 1] if shift + here > 32 else U32(0)
        code = fold(code, piece_of(codes[item, word], after, shift, here), width > 64)
    return code


@kernel
def table_hashes(codes, rated, width, hashes):
    """Line 6 of Algorithm 1: what the items are sorted by in each table; an item without ratings comes last.

    codes (N, W) uint32; rated (N,) uint8 or bool; width int, p * G; hashes (q, N) float32, overwritten.
    Launch: grid (ceil(N / block), q), any block.   Deterministic: yes, exact.   Source: Algorithm 1.
    """
    item, table = cuda.grid(1), cuda.blockIdx.y
    if item < codes.shape[0]:
        code = table_code(codes, item, table, width)
        hashes[table, item] = table_hash(code) if rated[item] else np.float32(np.inf)


@kernel
def bucket_matches(codes, rated, width, hashes, mates, first, keys):
    """Lines 7-9 of Algorithm 1: keys[b, j] loses one for each fine hashing in which items first + b and j agree.

    They agree when all p * G bits do.

    codes, rated, width and hashes as in table_hashes; mates (q, N) int32: the items of each table by rising hash;
    first int, item of the first query row; keys (B, N) uint32, q before.
    Launch: grid (ceil(8 * B / block), q), block a multiple of 8.   Deterministic: yes, exact (integer atomics).
    Source: Algorithm 1.
    """
    thread, table = cuda.grid(1), cuda.blockIdx.y
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


@device
def in_list(item, ids, row, size):
    """Whether item is among the first `size` of ids[row]."""
    for slot in range(size):
        if ids[row, slot] == item:
            return True
    return False


@kernel(fastmath=False)
def fill_slots(indices, values, first, worst, key, half, n_items, neighbors, scores, random_slots):
    """Lines 10-12 of Algorithm 1: the selected items with a key below worst, their scores, and the random supplement.

    indices (B, K) int32 and values (B, K) uint32: the selection of rows first..first + B; worst int, the key from which
    on a pair is no neighbour; key uint32 and half int: of formulas.shuffled; n_items int, N > K; neighbors (N, K)
    int32, scores (N, K) float32 in (0, 1] or NaN and random_slots (N,) int32, rows first..first + B written.
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
