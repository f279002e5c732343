"""CPU twins of kernels.py: the same name, the same arguments in the same order, launch scratch left out."""

import numpy as np

from gpukit._jit import njit
from gpukit.primitives.keys import ascending_key
from gpukit.primitives.search import lower_bound
from gpukit.scheduler import by_block

U32, U64 = np.uint32, np.uint64
SHORT = 127  # keys up to which insertion is as fast as counting bytes
PARTS = 256  # pieces of the work, each of whole segments and about as many keys


@njit
def integer_key(value):
    """`ascending_key` of a float32 or float64."""
    return ascending_key(np.float64(value).view(U64))


@njit
def insertion(keys, places, size):
    """Put entries [0, size) in ascending order; equal keys stay in theirs."""
    for i in range(1, size):
        key, place, slot = keys[i], places[i], i
        while slot > 0 and keys[slot - 1] > key:
            keys[slot] = keys[slot - 1]
            places[slot] = places[slot - 1]
            slot -= 1
        keys[slot] = key
        places[slot] = place


@njit
def place_run(keys, order):
    """Set order (n,) for keys (n,) that rise, or fall strictly; return False for others."""
    is_rising = keys.size < 2 or keys[0] <= keys[-1]
    for i in range(1, keys.size):
        if not (keys[i - 1] <= keys[i] if is_rising else keys[i - 1] > keys[i]):
            return False
    for i in range(keys.size):
        order[i] = i if is_rising else keys.size - 1 - i
    return True


@njit
def byte_of(key, byte):
    """A byte of a uint64, 0 the lowest."""
    return U32((key >> U64(8 * byte)) & U64(255))


@njit
def sort_byte(keys, places, size, byte, counts, to_keys, to_places):
    """Move entries [0, size) in the order of a byte of their keys; counts (256,) of its values: overwritten."""
    total = 0
    for value in range(counts.size):
        counts[value], total = total, total + counts[value]
    for i in range(size):
        value = byte_of(keys[i], byte)
        to_keys[counts[value]] = keys[i]
        to_places[counts[value]] = places[i]
        counts[value] += 1


@njit
def radix_sort(entries, places, size, counts):
    """Sort row 0 by the bytes in which keys differ, the lowest first; returns the row of the result.

    counts (8, 256): scratch.
    """
    counts[:] = 0
    for i in range(size):
        for byte in range(8):
            counts[byte, byte_of(entries[0, i], byte)] += 1
    row = 0
    for byte in range(8):
        if counts[byte, byte_of(entries[0, 0], byte)] < size:
            sort_byte(entries[row], places[row], size, byte, counts[byte], entries[1 - row], places[1 - row])
            row = 1 - row
    return row


@njit
def argsort_range(keys, offsets, first, last, order):
    """Segments [first, last), one after the other."""
    longest = 0
    for segment in range(first, last):
        longest = max(longest, offsets[segment + 1] - offsets[segment])
    entries, places = np.empty((2, longest), np.uint64), np.empty((2, longest), np.int32)
    counts = np.empty((8, 256), np.uint32)
    for segment in range(first, last):
        begin, end = offsets[segment], offsets[segment + 1]
        segment_keys, out = keys[begin:end], order[begin:end]
        if place_run(segment_keys, out):
            continue
        for i in range(segment_keys.size):
            entries[0, i], places[0, i] = integer_key(segment_keys[i]), i
        row = 0
        if segment_keys.size <= SHORT:
            insertion(entries[0], places[0], segment_keys.size)
        else:
            row = radix_sort(entries, places, segment_keys.size, counts)
        for i in range(segment_keys.size):
            out[i] = places[row, i]


@by_block(lambda: PARTS)
def argsort_segments(start, stop, keys, offsets, order):
    """Twin of kernels.argsort_segments: insertion or radix sort, segment by segment."""
    begin, segments = offsets[0], offsets.size - 1
    total = offsets[-1] - begin
    for part in range(start, stop):
        first = lower_bound(offsets, begin + total * part // PARTS, 0, segments)
        last = lower_bound(offsets, begin + total * (part + 1) // PARTS, 0, segments)
        argsort_range(keys, offsets, first, last, order)


@njit
def first_nan(keys, position):
    """Twin of kernels.first_nan."""
    for i in range(keys.size):
        if np.isnan(keys[i]):
            position[0] = min(position[0], i)
            return
