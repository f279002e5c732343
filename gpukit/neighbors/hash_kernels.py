"""GPU kernels of simLSH. hash_twins.py has each of them for the CPU; gpu.py launches them.

A thread of the hashing has one 32-bit word of a code, hence 32 bit-sliced counters (formulas.py). A rating costs its
hash and two or three logic operations, not 32 additions. Shared memory is used as indexable registers: no thread reads
another's.
"""

import numpy as np

from gpukit._cuda import cuda, device, factory, kernel
from gpukit.neighbors.formulas import (
    ALL_BITS,
    COUNT_SLICES,
    NO_HASH,
    add_carry,
    add_eight,
    bit_length,
    compare_slice,
    coordinate,
    full_add,
    half_add,
    used_bits,
    value_bit,
)
from gpukit.primitives.search import upper_bound
from gpukit.primitives.warp import FULL, WARP, group_max
from gpukit.random import bits

U32, U64, I64 = np.uint32, np.uint64, np.int64


@device
def user_word(users, i, stop, key, flip):
    """Return the hash word of the user of rating i, or 0 after the end of the run."""
    return U32(bits(key, users[U64(i)]) ^ flip) if i < stop else U32(0)


@device
def eight_words(users, i, stop, key, flip, low):
    """Add the words of ratings i..i+7 (those before stop) to low; return (ones, twos, fours, carry)."""
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
    """Count each bit of the word over the run users[begin:stop] into the slices count[:, lane]."""
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
def reached_bits(total, threshold, slices, lane):
    """Return the word of bits whose counter in total[:, lane] is at least threshold."""
    answer = ALL_BITS
    for s in range(U32(slices)):
        answer = compare_slice(total[s, lane], (threshold >> np.int64(s)) & 1, answer)
    return answer


@device
def add_slots(partials, totals, first, last, place, total):
    """total[:, lane] += the bit-sliced sums of slots first:last; return the sum of their totals.

    place: (word, slices, lane).
    """
    word, slices, lane = place
    whole_weight = np.int64(0)
    for slot in range(first, last):
        carry = U32(0)
        for s in range(U32(slices)):
            total[s, lane], carry = full_add(total[s, lane], partials[U64(slot), s, word], carry)
        whole_weight += totals[U64(slot)]
    return whole_weight


@factory
def make_hash_columns(block_size, slices):
    """Return hash_columns for blocks of block_size threads and sums of `slices` bits."""

    @kernel
    def hash_columns(users, levels, weights, keys, units, n_bits, codes, partials, totals):
        """Eq. (3): word w of item j's code, bit g = [sum over its ratings of Psi(r) * (+1 or -1 by bit g of H_i) >= 0].

        users (n,) int32; levels (n,) uint8, rising within a column; weights (L,) int64, Psi of a level; keys (W,)
        uint32, a word's random key; units (U, 4) int64: item, begin, end, slot (at most 4,095 ratings each); n_bits
        int, bits of a code; codes (N, W) uint32, rows of units with slot -1 written; partials (S, slices, W) uint32 and
        totals (S,) int64: the bit-sliced sum and the sum of |weight| of the units with a slot.
        Launch: grid (U, ceil(W / block_size)), block block_size; W at most 2**20.   Deterministic: yes (integers).
        Source: Eq. (3) and lines 3-5 of Algorithm 1; the counting is a carry-save adder tree.
        """
        total = cuda.shared.array((slices, block_size), np.uint32)
        count = cuda.shared.array((COUNT_SLICES, block_size), np.uint32)
        lane, unit = U32(cuda.threadIdx.x), U32(cuda.blockIdx.x)
        word = U32(cuda.blockIdx.y * block_size + lane)
        if word >= keys.size:
            return
        item, begin, end, slot = units[unit, 0], units[unit, 1], units[unit, 2], units[unit, 3]
        for s in range(U32(slices)):
            total[s, lane] = U32(0)
        whole_weight = np.int64(0)
        while begin < end:
            stop, weight = upper_bound(levels, levels[U64(begin)], begin + 1, end), weights[levels[U64(begin)]]
            count_run(users, begin, stop, keys[word], ALL_BITS if weight < 0 else U32(0), count, lane)
            weight = abs(weight)
            for b in range(bit_length(weight)):
                if (weight >> b) & 1:
                    add_shifted(count, bit_length(stop - begin), total, b, lane)
            whole_weight += weight * (stop - begin)
            begin = stop
        if slot < 0:
            codes[U64(item), word] = reached_bits(total, (whole_weight + 1) >> 1, slices, lane) & used_bits(
                word, n_bits
            )
            return
        totals[U64(slot)] = whole_weight
        for s in range(U32(slices)):
            partials[U64(slot), s, word] = total[s, lane]

    return hash_columns


@factory
def make_join_chunks(block_size, slices):
    """Return join_chunks for blocks of block_size threads and sums of `slices` bits."""

    @kernel
    def join_chunks(joins, n_bits, partials, totals, codes):
        """The codes of divided columns: their units' bit-sliced sums added, then the signs of Eq. (3).

        joins (J, 3) int64: item, first slot, last slot + 1; n_bits int; partials (S, slices, W) uint32; totals (S,)
        int64; codes (N, W) uint32, rows of these items written.
        Launch: grid (J, ceil(W / block_size)), block block_size.   Deterministic: yes, exact (integers).
        Source: Eq. (3); a ripple adder on 32 counters.
        """
        total = cuda.shared.array((slices, block_size), np.uint32)
        lane, join = U32(cuda.threadIdx.x), U32(cuda.blockIdx.x)
        word = U32(cuda.blockIdx.y * block_size + lane)
        if word >= partials.shape[2]:
            return
        for s in range(U32(slices)):
            total[s, lane] = U32(0)
        place = word, slices, lane
        whole_weight = add_slots(partials, totals, joins[join, 1], joins[join, 2], place, total)
        answer = reached_bits(total, (whole_weight + 1) >> 1, slices, lane)
        codes[U64(joins[join, 0]), word] = answer & used_bits(word, n_bits)

    return join_chunks


@factory
def make_add_chunks(block_size, slices):
    """Return add_chunks for blocks of block_size threads and sums of `slices` bits."""

    @kernel
    def add_chunks(joins, n_bits, partials, totals, whole, sums, codes):
        """Add further ratings to stored sums: line 3 of Algorithm 4.

        joins (J, 3) int64: item, each once, first slot, last slot + 1; n_bits int; partials (S, slices, W) uint32 and
        totals (S,) int64 from hash_columns; whole (N,) int64: the sum of |weight| of each item so far; sums (N, slices,
        W) uint32: the bit-sliced sums so far, in place; codes (N, W) uint32, rows of these items written.
        Launch: grid (J, ceil(W / block_size)), block block_size.   Deterministic: yes, exact (integers).
        Source: Li et al. 2022, Algorithm 4: the sums inside Eq. (3) are saved and added to.
        """
        total = cuda.shared.array((slices, block_size), np.uint32)
        lane, join = U32(cuda.threadIdx.x), U32(cuda.blockIdx.x)
        word = U32(cuda.blockIdx.y * block_size + lane)
        if word >= partials.shape[2]:
            return
        item = U64(joins[join, 0])
        for s in range(U32(slices)):
            total[s, lane] = sums[item, s, word]
        place = word, slices, lane
        whole_weight = whole[item] + add_slots(partials, totals, joins[join, 1], joins[join, 2], place, total)
        for s in range(U32(slices)):
            sums[item, s, word] = total[s, lane]
        codes[item, word] = reached_bits(total, (whole_weight + 1) >> 1, slices, lane) & used_bits(word, n_bits)

    return add_chunks


@kernel
def add_totals(joins, totals, whole):
    """whole[item] += the totals of its slots, after add_chunks has read it.

    joins (J, 3) int64: item, each once, first slot, last slot + 1; totals (S,) int64; whole (N,) int64, in place.
    Launch: any grid and block.   Deterministic: yes, exact.   Source: Eq. (3).
    """
    for join in range(cuda.grid(1), joins.shape[0], cuda.gridsize(1)):
        for slot in range(joins[join, 1], joins[join, 2]):
            whole[U64(joins[join, 0])] += totals[U64(slot)]


@device
def least_hash(users, begin, end, key):
    """Return the smallest hash of the users begin:end, by all lanes of a warp."""
    value = NO_HASH
    for t in range(begin + I64(cuda.threadIdx.x % WARP), end, I64(WARP)):
        value = min(value, bits(key, users[U64(t)]))
    return U32(-group_max(-I64(value), WARP))


@kernel
def hash_minwise(starts, users, keys, n_bits, codes):
    """Code words of minwise hashings: hashing h has the bits h * G to (h + 1) * G of a code.

    starts (N + 1,) int64 and users (n,) int32: ratings by item; keys (p * q,) uint32; n_bits int, p * q * G; codes
    (N, W) uint32, overwritten, zero past n_bits.
    Launch: grid ceil(32 N W / block), block a multiple of 32: a warp a word.   Deterministic: yes, exact.
    Source: Broder 1997; Li and Koenig 2010.
    """
    warp = I64(cuda.blockIdx.x) * I64(cuda.blockDim.x // WARP) + I64(cuda.threadIdx.x // WARP)
    item, word = warp // codes.shape[1], I64(warp % codes.shape[1])
    if item >= codes.shape[0]:
        return
    width, code = I64(n_bits // keys.size), U32(0)
    begin, end = I64(word * I64(WARP)), min(I64(word * I64(WARP) + I64(WARP)), I64(n_bits))
    bit = begin
    while bit < end:
        hashing = bit // width
        value = least_hash(users, starts[U64(item)], starts[U64(item) + U64(1)], keys[U64(hashing)])
        while bit < end and bit // width == hashing:
            code |= U32(value_bit(value, bit - hashing * width) << U32(bit - begin))
            bit += 1
    if cuda.threadIdx.x % WARP == 0:
        codes[U64(item), U64(word)] = code


@device
def column_sum(users, levels, weights, key, begin, end):
    """Return the sum of weight times coordinate over ratings begin..end: whole numbers of 32 bits within a level."""
    total = I64(0)
    while begin < end:
        level, part = levels[U64(begin)], np.int32(0)
        stop = upper_bound(levels, level, begin + 1, end)
        for t in range(begin, stop):
            part = np.int32(part + coordinate(key, users[U64(t)]))
        total += weights[level] * I64(part)
        begin = stop
    return total


@device
def write_word(codes, item, bit, positive):
    """Write a warp's bits, one per lane, as a word of the item's code."""
    word = U32(cuda.ballot_sync(FULL, positive))
    if bit % U32(WARP) == U32(0) and bit // U32(WARP) < U32(codes.shape[1]):
        codes[U64(item), bit // U32(WARP)] = word


@kernel
def project_columns(users, levels, weights, keys, units, codes, partials):
    """Bit g of item j's code = [sum over its ratings of weight(r) * coordinate of the user in direction g >= 0].

    users (n,) int32; levels (n,) uint8, rising within a column; weights (L,) int64 of the levels; keys (n_bits,)
    uint32; units (U, 4) int64: item, begin, end, slot (at most 4,095 ratings each); codes (N, W) uint32, rows of units
    with slot -1 written; partials (S, n_bits) int64: the sums of the units with a slot.
    Launch: grid (U, ceil(n_bits / block)), block a multiple of 32.   Deterministic: yes, exact (integers).
    Source: Charikar 2002; the paper's RP_cos.
    """
    bit, unit = U32(cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.x), U32(cuda.blockIdx.x)
    item, begin, end, slot = units[unit, 0], units[unit, 1], units[unit, 2], units[unit, 3]
    total, inside = I64(-1), bit < U32(keys.size)
    if inside:
        total = column_sum(users, levels, weights, keys[bit], begin, end)
    if slot < 0:
        write_word(codes, item, bit, total >= 0)
    elif inside:
        partials[U64(slot), bit] = total


@kernel
def join_parts(joins, partials, codes):
    """The codes of divided columns: the sums of their units added, then the signs.

    joins (J, 3) int64: item, first slot, last slot + 1; partials (S, n_bits) int64; codes (N, W) uint32, rows of these
    items written.
    Launch: grid (J, ceil(n_bits / block)), block a multiple of 32.   Deterministic: yes, exact (integers).
    Source: as project_columns.
    """
    bit, join = U32(cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.x), U32(cuda.blockIdx.x)
    total = I64(-1)
    if bit < U32(partials.shape[1]):
        total = I64(0)
        for slot in range(joins[join, 1], joins[join, 2]):
            total += partials[U64(slot), bit]
    write_word(codes, joins[join, 0], bit, total >= 0)
