"""CPU twins of kernels.py: the same names, the same arguments in the same order, the same integers."""

import numpy as np

from gpukit._jit import njit, prange
from gpukit.neighbors.formulas import full_add
from gpukit.neighbors.hashes.simlsh.formulas import (
    ALL_BITS,
    COUNT_SLICES,
    add_eight,
    bit_length,
    compare_slice,
    used_bits,
)
from gpukit.random import bits

U32 = np.uint32
WORDS = 128  # words handled side by side: a row of a bit-sliced buffer


@njit
def count_run(users, begin, stop, keys, flip, count):
    """How often each bit of each word of H_i ^ flip is set over the run users[begin:stop], as bit slices in count.

    count (12 * WORDS,) uint32, slice s of word w at s * WORDS + w, overwritten.
    """
    count[:] = U32(0)
    whole = begin + (stop - begin) // 8 * 8
    for i in range(begin, whole, 8):
        count_eight(users[i : i + 8], keys, flip, count)
    for i in range(whole, stop):
        user = users[i]
        for w in range(keys.size):
            carry = U32(bits(keys[w], user) ^ flip)
            for s in range(COUNT_SLICES):
                old = count[s * WORDS + w]
                count[s * WORDS + w] = old ^ carry
                carry &= old


@njit
def count_eight(users, keys, flip, count):
    """Add the words of eight users to the slices in count."""
    u0, u1, u2, u3 = users[0], users[1], users[2], users[3]
    u4, u5, u6, u7 = users[4], users[5], users[6], users[7]
    for w in range(keys.size):
        k = keys[w]
        low = (count[w], count[WORDS + w], count[2 * WORDS + w])
        ones, twos, fours, carry = add_eight(
            low,
            bits(k, u0) ^ flip,
            bits(k, u1) ^ flip,
            bits(k, u2) ^ flip,
            bits(k, u3) ^ flip,
            bits(k, u4) ^ flip,
            bits(k, u5) ^ flip,
            bits(k, u6) ^ flip,
            bits(k, u7) ^ flip,
        )
        count[w], count[WORDS + w], count[2 * WORDS + w] = ones, twos, fours
        for s in range(3, COUNT_SLICES):
            old = count[s * WORDS + w]
            count[s * WORDS + w] = old ^ carry
            carry &= old


@njit
def add_slices(source, source_slice, width, target, target_slice, slices, n_words):
    """target += source * 2**target_slice on bit-sliced counters; source has `width` slices, target `slices`."""
    carry = np.zeros(WORDS, np.uint32)
    for s in range(target_slice, slices):
        row = s * WORDS
        if s - target_slice < width:
            add = (source_slice + s - target_slice) * WORDS
            for w in range(n_words):
                target[row + w], carry[w] = full_add(target[row + w], source[add + w], carry[w])
        else:
            left = U32(0)
            for w in range(n_words):
                old = target[row + w]
                target[row + w] = old ^ carry[w]
                carry[w] &= old
                left |= carry[w]
            if left == 0:
                return


@njit
def sum_unit(users, levels, weights, keys, begin, end, slices, count, total):
    """Bit slices of sum |weight| * bit over ratings begin..end into total; returns the sum of |weight|."""
    total[:] = U32(0)
    whole_weight = np.int64(0)
    while begin < end:
        stop = begin + np.searchsorted(levels[begin:end], levels[begin], side="right")
        weight = abs(weights[levels[begin]])
        flip = ALL_BITS if weights[levels[begin]] < 0 else U32(0)
        count_run(users, begin, stop, keys, flip, count)
        for b in range(bit_length(weight)):
            if (weight >> b) & 1:
                add_slices(count, 0, bit_length(stop - begin), total, b, slices, keys.size)
        whole_weight += weight * (stop - begin)
        begin = stop
    return whole_weight


@njit
def signs(total, threshold, slices, first_word, n_bits, row):
    """Upsilon of Eq. (3): row[w] gets the bits whose counter in total reaches the threshold."""
    for w in range(row.size):
        answer = ALL_BITS
        for s in range(slices):
            answer = compare_slice(total[s * WORDS + w], (threshold >> s) & 1, answer)
        row[w] = answer & used_bits(first_word + w, n_bits)


@njit(parallel=True)
def hash_columns(users, levels, weights, keys, units, n_bits, codes, partials, totals):
    """Twin of kernels.hash_columns; vectorized over words."""
    slices = partials.shape[1]
    for u in prange(units.shape[0]):
        item, begin, end, slot = units[u, 0], units[u, 1], units[u, 2], units[u, 3]
        count = np.empty(COUNT_SLICES * WORDS, np.uint32)
        total = np.empty(slices * WORDS, np.uint32)
        for first in range(0, keys.size, WORDS):
            last = min(first + WORDS, keys.size)
            weight = sum_unit(users, levels, weights, keys[first:last], begin, end, slices, count, total)
            if slot < 0:
                signs(total, (weight + 1) // 2, slices, first, n_bits, codes[item, first:last])
            else:
                totals[slot] = weight
                for s in range(slices):
                    partials[slot, s, first:last] = total[s * WORDS : s * WORDS + last - first]


@njit(parallel=True)
def join_chunks(joins, n_bits, partials, totals, codes):
    """Twin of kernels.join_chunks."""
    slices, n_words = partials.shape[1], partials.shape[2]
    for j in prange(joins.shape[0]):
        item, first_slot, last_slot = joins[j, 0], joins[j, 1], joins[j, 2]
        weight = totals[first_slot:last_slot].sum()
        for first in range(0, n_words, WORDS):
            last = min(first + WORDS, n_words)
            total = np.zeros(slices * WORDS, np.uint32)
            part = np.zeros(slices * WORDS, np.uint32)
            for slot in range(first_slot, last_slot):
                for s in range(slices):
                    part[s * WORDS : s * WORDS + last - first] = partials[slot, s, first:last]
                add_slices(part, 0, slices, total, 0, slices, last - first)
            signs(total, (weight + 1) // 2, slices, first, n_bits, codes[item, first:last])
