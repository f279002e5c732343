"""CPU twins of kernels.py: the same name, the same arguments in the same order, launch scratch left out."""

import numpy as np

from gpukit._jit import njit
from gpukit.primitives.keys import ascending_key
from gpukit.primitives.search import lower_bound
from gpukit.scheduler import by_block

U32, U64 = np.uint32, np.uint64
RUNS = 4  # runs of a segment that are merged, one for each 64 keys
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
def find_runs(keys, most, ends, strict):
    """The number of runs of a segment's keys (n,); 0 if there are more than `most`, or a NaN.

    ends[k]: the end of run k; strict[k]: the end of its strictly falling start, or 0 for a run that does not fall.
    """
    count, i = 0, 1
    while count < most:
        begin = i
        while i < keys.size and keys[i - 1] > keys[i]:
            i += 1
        strict[count] = i if i > begin else 0
        if i > begin:
            while i < keys.size and keys[i - 1] >= keys[i]:
                i += 1
        else:
            while i < keys.size and keys[i - 1] <= keys[i]:
                i += 1
        ends[count] = i
        count += 1
        if i >= keys.size:
            return count
        if not (keys[i - 1] < keys[i] or keys[i - 1] > keys[i]):
            return 0
        i += 1
    return 0


@njit
def place_run(keys, begin, end, strict, order):
    """order[begin:end] = the positions of a run's keys, ascending, equal ones by position; see `find_runs`."""
    segment = order[begin:end]
    if not strict:
        for i in range(segment.size):
            segment[i] = begin + i
        return
    for i in range(segment.size):
        segment[i] = end - 1 - i
    first = strict - 1  # of equal keys, up to i
    for i in range(strict, end + 1):
        if i == end or keys[i] != keys[first]:
            for k in range(first, i):
                segment[end - i + k - first] = k
            first = i


@njit
def merge(keys, order, begin, middle, end, target):
    """Runs [begin, middle) and [middle, end) of order as one run; of equal keys the first run's come first."""
    a, b = begin, middle
    slot = begin
    while a < middle and b < end:
        second = keys[order[b]] < keys[order[a]]
        target[slot] = order[b if second else a]
        b += second
        a += not second
        slot += 1
    rest = a if a < middle else b
    for i in range(rest, rest + end - slot):
        target[slot + i - rest] = order[i]


@njit
def merge_runs(keys, order, ends, count, target):
    """Merge the runs of order, which end at ends[:count], into target and back; the last result is in either."""
    while count > 1:
        low = 0
        for run in range(0, count, 2):
            middle, end = ends[run], ends[min(run + 1, count - 1)]
            merge(keys, order, low, middle, end, target)
            ends[run // 2] = low = end
        count, order, target = (count + 1) // 2, target, order


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
def keep_ascending(keys, most, kept):
    """The number of positions in kept (n,), whose keys ascend; 0 if more than `most` others are left out.

    A key below the last one is left out together with it, so that a single large key does not hide those behind it.
    """
    count = 0
    for i in range(keys.size):
        if count == 0 or keys[i] >= keys[kept[count - 1]]:
            kept[count] = i
            count += 1
        else:
            count -= 1
            if i + 1 - count > most:
                return 0
    return count


@njit
def sort_scattered(keys, kept, count, entries, places, counts, order):
    """order = the positions of keys (n,), ascending: kept[:count] merged with the others, which are sorted by byte."""
    others = 0
    for i in range(keys.size):
        if i - others == count or kept[i - others] != i:
            entries[0, others], places[0, others] = integer_key(keys[i]), i
            others += 1
    row = radix_sort(entries, places, others, counts)
    a, b, key = 0, 0, integer_key(keys[kept[0]])
    for slot in range(keys.size):
        other, place = entries[row, b], places[row, b]
        if b < others and (a == count or other < key or (other == key and place < kept[a])):
            order[slot] = place
            b += 1
        else:
            order[slot] = kept[a]
            a += 1
            key = integer_key(keys[kept[min(a, count - 1)]])


@njit
def argsort_range(keys, offsets, first, last, order):
    """Segments [first, last), one after the other."""
    longest, short = 0, 96  # keys up to which insertion is faster than counting bytes
    for segment in range(first, last):
        longest = max(longest, offsets[segment + 1] - offsets[segment])
    entries, places, kept = (
        np.empty((2, longest), np.uint64),
        np.empty((2, longest), np.int32),
        np.empty(longest, np.int32),
    )
    ends, strict, counts = np.empty(RUNS, np.int64), np.empty(RUNS, np.int64), np.empty((8, 256), np.uint32)
    for segment in range(first, last):
        begin, end = offsets[segment], offsets[segment + 1]
        segment_keys, out = keys[begin:end], order[begin:end]
        runs = find_runs(segment_keys, min(1 + segment_keys.size // 64, RUNS), ends, strict)
        if runs:
            source, target = (places[0], out) if runs == 2 else (out, places[0])  # so that the last result is in out
            for run in range(runs):
                place_run(segment_keys, ends[run - 1] if run else 0, ends[run], strict[run], source)
            merge_runs(segment_keys, source, ends, runs, target)
            continue
        size = segment_keys.size
        count = keep_ascending(segment_keys, size // 8, kept) if size > short else 0
        if count:
            sort_scattered(segment_keys, kept, count, entries, places, counts, out)
            continue
        for i in range(segment_keys.size):
            entries[0, i], places[0, i] = integer_key(segment_keys[i]), i
        row = 0
        if segment_keys.size <= short:
            insertion(entries[0], places[0], segment_keys.size)
        else:
            row = radix_sort(entries, places, segment_keys.size, counts)
        for i in range(segment_keys.size):
            out[i] = places[row, i]


@by_block(lambda: PARTS)
def argsort_segments(start, stop, keys, offsets, order):
    """Twin of kernels.argsort_segments: runs merged, else insertion or radix sort, segment by segment."""
    total, segments = offsets[-1], offsets.size - 1
    for part in range(start, stop):
        first = lower_bound(offsets, total * part // PARTS, 0, segments)
        last = lower_bound(offsets, total * (part + 1) // PARTS, 0, segments)
        argsort_range(keys, offsets, first, last, order)


def first_nan(keys, position):
    """Twin of kernels.first_nan."""
    if (is_nan := np.isnan(keys)).any():
        position[0] = min(position[0], is_nan.argmax())
