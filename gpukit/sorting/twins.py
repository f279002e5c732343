"""CPU twins of kernels.py: the same name, the same arguments in the same order, launch scratch left out."""

import numpy as np

from gpukit._jit import njit
from gpukit.primitives.keys import ascending_key
from gpukit.primitives.search import lower_bound
from gpukit.scheduler import by_block

U32, U64 = np.uint32, np.uint64
RUN = 12  # entries that insertion puts in order
PARTS = 256  # pieces of the work, each of whole segments and about as many keys


@njit
def integer_key(value):
    """`ascending_key` of a float32 or float64."""
    return ascending_key(np.float64(value).view(U64))


@njit
def insertion(keys, places, begin, end):
    """Put entries [begin, end) in ascending order; equal keys stay in theirs."""
    for i in range(begin + 1, end):
        key, place, slot = keys[i], places[i], i
        while slot > begin and keys[slot - 1] > key:
            keys[slot] = keys[slot - 1]
            places[slot] = places[slot - 1]
            slot -= 1
        keys[slot] = key
        places[slot] = place


@njit
def merge(keys, places, begin, middle, end, to_keys, to_places):
    """Runs [begin, middle) and [middle, end) as one run; of equal keys the first run's come first."""
    a, b = begin, middle
    slot = begin
    while a < middle and b < end:
        second = keys[b] < keys[a]
        taken = b if second else a
        to_keys[slot] = keys[taken]
        to_places[slot] = places[taken]
        b += second
        a += not second
        slot += 1
    rest = a if a < middle else b
    for i in range(rest, rest + end - slot):
        to_keys[slot + i - rest] = keys[i]
        to_places[slot + i - rest] = places[i]


@njit
def merge_sort(keys, places, other_keys, other_places, size):
    """True when the ascending entries [0, size) end up in the other arrays, False when in the first."""
    for begin in range(0, size, RUN):
        insertion(keys, places, begin, min(begin + RUN, size))
    width, turned = RUN, False
    while width < size:
        for begin in range(0, size, 2 * width):
            middle, end = min(begin + width, size), min(begin + 2 * width, size)
            if turned:
                merge(other_keys, other_places, begin, middle, end, keys, places)
            else:
                merge(keys, places, begin, middle, end, other_keys, other_places)
        width, turned = 2 * width, not turned
    return turned


@njit
def argsort_range(keys, offsets, first, last, order):
    """Segments [first, last), one after the other."""
    longest = 0
    for segment in range(first, last):
        longest = max(longest, offsets[segment + 1] - offsets[segment])
    entries, places = np.empty((2, longest), np.uint64), np.empty((2, longest), np.uint32)
    for segment in range(first, last):
        begin, size = offsets[segment], offsets[segment + 1] - offsets[segment]
        for i in range(size):
            entries[0, i] = integer_key(keys[begin + i])
            places[0, i] = i
        found = places[1 if merge_sort(entries[0], places[0], entries[1], places[1], size) else 0]
        for i in range(size):
            order[begin + i] = found[i]


@by_block(lambda: PARTS)
def argsort_segments(start, stop, keys, offsets, order):
    """Twin of kernels.argsort_segments: a merge sort a segment over runs sorted by insertion."""
    total, segments = offsets[-1], offsets.size - 1
    for part in range(start, stop):
        first = lower_bound(offsets, total * part // PARTS, 0, segments)
        last = lower_bound(offsets, total * (part + 1) // PARTS, 0, segments)
        argsort_range(keys, offsets, first, last, order)


@njit
def first_nan(keys, found):
    """Twin of kernels.first_nan."""
    for i in range(keys.size):
        if np.isnan(keys[i]):
            found[0] = min(found[0], i)
            return
