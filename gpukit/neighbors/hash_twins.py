"""CPU twins of hash_kernels.py: the same names, the same arguments in the same order, the same integers."""

import numpy as np

from gpukit._jit import copy_row, njit
from gpukit.neighbors.formulas import (
    ALL_BITS,
    COUNT_SLICES,
    NO_HASH,
    add_eight,
    bit_length,
    compare_slice,
    coordinate,
    full_add,
    half_add,
    used_bits,
    value_bit,
)
from gpukit.neighbors.plan import WeightedUsers
from gpukit.random import bits
from gpukit.scheduler import by_block

U32 = np.uint32
WORDS = 128  # words processed together: a row of a bit-sliced buffer


@njit
def user_at(users, i, stop):
    """Return (user of rating i, all bits), or (any user, no bits) after the end of the run."""
    return users[min(i, stop - 1)], ALL_BITS if i < stop else U32(0)


@njit
def count_eight(users, i, stop, keys, flip, count):
    """Add the words of the users of ratings i..i+7 (those before stop) to the slices in count."""
    (u0, m0), (u1, m1) = user_at(users, i, stop), user_at(users, i + 1, stop)
    (u2, m2), (u3, m3) = user_at(users, i + 2, stop), user_at(users, i + 3, stop)
    (u4, m4), (u5, m5) = user_at(users, i + 4, stop), user_at(users, i + 5, stop)
    (u6, m6), (u7, m7) = user_at(users, i + 6, stop), user_at(users, i + 7, stop)
    for w in range(keys.size):
        k = keys[w]
        count[w], count[WORDS + w], count[2 * WORDS + w], carry = add_eight(
            (count[w], count[WORDS + w], count[2 * WORDS + w]),
            (bits(k, u0) ^ flip) & m0,
            (bits(k, u1) ^ flip) & m1,
            (bits(k, u2) ^ flip) & m2,
            (bits(k, u3) ^ flip) & m3,
            (bits(k, u4) ^ flip) & m4,
            (bits(k, u5) ^ flip) & m5,
            (bits(k, u6) ^ flip) & m6,
            (bits(k, u7) ^ flip) & m7,
        )
        for s in range(3, COUNT_SLICES):
            count[s * WORDS + w], carry = half_add(count[s * WORDS + w], carry)


@njit
def count_run(users, begin, stop, keys, flip, count):
    """Count each bit of each word of H_i ^ flip over the run users[begin:stop], as bit slices in count.

    count (12 * WORDS,) uint32, slice s of word w at s * WORDS + w, overwritten.
    """
    count[:] = U32(0)
    for i in range(begin, stop, 8):
        count_eight(users, i, stop, keys, flip, count)


@njit
def slice_of(buffer, s, n_words):
    """Return slice s of the first words of a bit-sliced buffer."""
    return buffer[s * WORDS : s * WORDS + n_words]


@njit
def add_words(source, target, carry):
    """One slice of an addition: target, carry = source + target + carry."""
    for w in range(carry.size):
        target[w], carry[w] = full_add(target[w], source[w], carry[w])


@njit
def carry_over(target, carry):
    """add_words without a source; return True if any carry remains."""
    left = U32(0)
    for w in range(carry.size):
        target[w], carry[w] = half_add(target[w], carry[w])
        left |= carry[w]
    return left != 0


@njit
def add_shifted(source, width, target, shift, slices, carry):
    """target += source * 2**shift on bit-sliced counters of `slices` and `width` slices; carry (words,): scratch."""
    carry[:] = U32(0)
    for s in range(width):
        add_words(slice_of(source, s, carry.size), slice_of(target, s + shift, carry.size), carry)
    s = width + shift
    while s < slices and carry_over(slice_of(target, s, carry.size), carry):
        s += 1


@njit
def sum_unit(users, levels, weights, keys, begin, end, slices, count, total, carry):
    """Add bit slices of sum |weight| * bit over ratings begin..end to total; return the sum of |weight|."""
    total[:] = U32(0)
    whole_weight = np.int64(0)
    while begin < end:
        stop = begin + 1
        while stop < end and levels[stop] == levels[begin]:
            stop += 1
        weight = abs(weights[levels[begin]])
        flip = ALL_BITS if weights[levels[begin]] < 0 else U32(0)
        count_run(users, begin, stop, keys, flip, count)
        for b in range(bit_length(weight)):
            if (weight >> b) & 1:
                add_shifted(count, bit_length(stop - begin), total, b, slices, carry)
        whole_weight += weight * (stop - begin)
        begin = stop
    return whole_weight


@njit
def keep_reached(words, bit, row):
    """One step, from the lowest slice up, of row = counters >= a threshold; bit is the threshold's."""
    for w in range(row.size):
        row[w] = compare_slice(words[w], bit, row[w])


@njit
def signs(total, threshold, slices, first_word, n_bits, row):
    """Upsilon of Eq. (3): row[w] gets the bits whose counter in total is at least the threshold."""
    row[:] = ALL_BITS
    for s in range(slices):
        keep_reached(slice_of(total, s, row.size), (threshold >> s) & 1, row)
    for w in range(row.size):
        row[w] &= used_bits(first_word + w, n_bits)


def whole_vectors(keys):
    """Return keys padded with zeros to a multiple of the words of the widest vector."""
    lanes = 16
    padded = np.zeros(-(-keys.size // lanes) * lanes, np.uint32)
    padded[: keys.size] = keys
    return padded


def hash_columns(users, levels, weights, keys, units, n_bits, codes, partials, totals):
    """Twin of kernels.hash_columns; vectorized over words."""
    _hash_units(WeightedUsers(users, levels, weights, whole_vectors(keys)), units, n_bits, codes, partials, totals)


@by_block(lambda units: units.shape[0])
def _hash_units(start, stop, ratings, units, n_bits, codes, partials, totals):
    (users, levels, weights, padded), slices, n_words = ratings, partials.shape[1], partials.shape[2]
    for u in range(start, stop):
        item, begin, end, slot = units[u, 0], units[u, 1], units[u, 2], units[u, 3]
        count, total = np.empty(COUNT_SLICES * WORDS, np.uint32), np.empty(slices * WORDS, np.uint32)
        for first in range(0, n_words, WORDS):
            last = min(first + WORDS, n_words)
            words = padded[first : first + WORDS]
            carry = np.empty(words.size, np.uint32)
            weight = sum_unit(users, levels, weights, words, begin, end, slices, count, total, carry)
            if slot < 0:
                signs(total, (weight + 1) // 2, slices, first, n_bits, codes[item, first:last])
            else:
                totals[slot] = weight
                for s in range(slices):
                    copy_row(slice_of(total, s, last - first), partials[slot, s, first:last])


@njit
def add_slots(partials, first_slot, last_slot, words, total, carry):
    """total += the bit-sliced sums of slots, of the words (first, last)."""
    slices, (first, last) = partials.shape[1], words
    part = np.zeros(slices * WORDS, np.uint32)
    for slot in range(first_slot, last_slot):
        for s in range(slices):
            copy_row(partials[slot, s, first:last], slice_of(part, s, last - first))
        add_shifted(part, slices, total, 0, slices, carry)


@by_block(lambda joins: joins.shape[0])
def join_chunks(start, stop, joins, n_bits, partials, totals, codes):
    """Twin of kernels.join_chunks."""
    slices, n_words = partials.shape[1], partials.shape[2]
    for j in range(start, stop):
        item, first_slot, last_slot = joins[j, 0], joins[j, 1], joins[j, 2]
        weight = totals[first_slot:last_slot].sum()
        for first in range(0, n_words, WORDS):
            last = min(first + WORDS, n_words)
            total, carry = np.zeros(slices * WORDS, np.uint32), np.empty(last - first, np.uint32)
            add_slots(partials, first_slot, last_slot, (first, last), total, carry)
            signs(total, (weight + 1) // 2, slices, first, n_bits, codes[item, first:last])


@by_block(lambda joins: joins.shape[0])
def add_chunks(start, stop, joins, n_bits, partials, totals, whole, sums, codes):
    """Twin of kernels.add_chunks."""
    slices, n_words = partials.shape[1], partials.shape[2]
    for j in range(start, stop):
        item, first_slot, last_slot = joins[j, 0], joins[j, 1], joins[j, 2]
        weight = whole[item] + totals[first_slot:last_slot].sum()
        for first in range(0, n_words, WORDS):
            last = min(first + WORDS, n_words)
            total, carry = np.zeros(slices * WORDS, np.uint32), np.empty(last - first, np.uint32)
            for s in range(slices):
                copy_row(sums[item, s, first:last], slice_of(total, s, last - first))
            add_slots(partials, first_slot, last_slot, (first, last), total, carry)
            for s in range(slices):
                copy_row(slice_of(total, s, last - first), sums[item, s, first:last])
            signs(total, (weight + 1) // 2, slices, first, n_bits, codes[item, first:last])


@njit
def add_totals(joins, totals, whole):
    """Twin of kernels.add_totals."""
    for j in range(joins.shape[0]):
        whole[joins[j, 0]] += totals[joins[j, 1] : joins[j, 2]].sum()


@njit
def least_hashes(users, keys, values):
    """values (p * q,) = the smallest hash of the users, for each hashing."""
    values[:] = NO_HASH
    for t in range(users.size):
        user = users[t]
        for h in range(keys.size):
            values[h] = min(values[h], bits(keys[h], user))


@by_block(lambda codes: codes.shape[0])
def hash_minwise(start, stop, starts, users, keys, n_bits, codes):
    """Twin of kernels.hash_columns; vectorized over hashings."""
    for item in range(start, stop):
        values, width = np.empty(keys.size, np.uint32), n_bits // keys.size
        least_hashes(users[starts[item] : starts[item + 1]], keys, values)
        codes[item] = U32(0)
        for bit in range(n_bits):
            value = value_bit(values[bit // width], bit % width)
            codes[item, bit >> 5] |= U32(value << U32(bit & 31))


@njit
def add_coordinates(user, keys, part):
    """part (n_bits,) += the user's coordinates in all directions."""
    for bit in range(keys.size):
        part[bit] += coordinate(keys[bit], user)


@njit
def column_sums(users, levels, weights, keys, totals):
    """totals (n_bits,) = sum of weight times coordinate over a column."""
    totals[:] = 0
    part, begin = np.empty(keys.size, np.int32), 0
    while begin < users.size:
        stop = begin + np.searchsorted(levels[begin:], levels[begin], side="right")
        part[:] = 0
        for t in range(begin, stop):
            add_coordinates(users[t], keys, part)
        for bit in range(keys.size):
            totals[bit] += weights[levels[begin]] * part[bit]
        begin = stop


@njit
def write_signs(totals, row):
    """Write an item's code (W,): a bit for each nonnegative sum."""
    row[:] = U32(0)
    for bit in range(totals.size):
        if totals[bit] >= 0:
            row[bit >> 5] |= U32(1) << U32(bit & 31)


@by_block(lambda units: units.shape[0])
def project_columns(start, stop, users, levels, weights, keys, units, codes, partials):
    """Twin of kernels.project_columns; vectorized over bits."""
    for u in range(start, stop):
        item, begin, end, slot = units[u, 0], units[u, 1], units[u, 2], units[u, 3]
        totals = np.empty(keys.size, np.int64)
        column_sums(users[begin:end], levels[begin:end], weights, keys, totals)
        if slot < 0:
            write_signs(totals, codes[item])
        else:
            copy_row(totals, partials[slot])


@by_block(lambda joins: joins.shape[0])
def join_parts(start, stop, joins, partials, codes):
    """Twin of kernels.join_parts."""
    for j in range(start, stop):
        totals = np.zeros(partials.shape[1], np.int64)
        for slot in range(joins[j, 1], joins[j, 2]):
            totals += partials[slot]
        write_signs(totals, codes[joins[j, 0]])
