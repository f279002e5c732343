"""CPU twins of kernels.py: the same name, the same arguments in the same order, launch scratch left out."""

import numpy as np

from gpukit._jit import njit
from gpukit.primitives.keys import ascending_key
from gpukit.primitives.search import lower_bound
from gpukit.scheduler import by_block

U32, U64 = np.uint32, np.uint64
SHORT = 96  # keys up to which insertion is faster than counting bytes
RUNS = 32  # runs of a segment that are merged, one for each 64 keys
LEAST = 32  # keys of a run that insertion lengthens, and up to which insertion is all
RECENT = 8  # keys in a row that do not fit behind those in order, before the last of these are taken out
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
def rising_end(keys, i):
    """The end of the keys from i on, each of which is not below the previous one."""
    stop = min(i + LEAST, keys.size)
    while i < stop and keys[i - 1] <= keys[i]:
        i += 1
    if i < stop:
        return i
    while i + LEAST <= keys.size:  # without a branch for each key
        wrong = 0
        for k in range(i, i + LEAST):
            wrong += keys[k - 1] > keys[k]
        if wrong:
            break
        i += LEAST
    while i < keys.size and keys[i - 1] <= keys[i]:
        i += 1
    return i


@njit
def falling_end(keys, i):
    """The end of the keys from i on, each of which is below the previous one."""
    stop = min(i + LEAST, keys.size)
    while i < stop and keys[i - 1] > keys[i]:
        i += 1
    if i < stop:
        return i
    while i + LEAST <= keys.size:  # without a branch for each key
        wrong = 0
        for k in range(i, i + LEAST):
            wrong += keys[k - 1] <= keys[k]
        if wrong:
            break
        i += LEAST
    while i < keys.size and keys[i - 1] > keys[i]:
        i += 1
    return i


@njit
def place_run(keys, begin, order):
    """order[begin:end] = the positions of the run from begin on, ascending, equal keys by position; returns end."""
    strict = falling_end(keys, begin + 1)
    if strict == begin + 1:
        end = rising_end(keys, strict)
        for i in range(begin, end):
            order[i] = i
        return end
    end = strict
    while end < keys.size and keys[end - 1] >= keys[end]:
        end += 1
    for i in range(end - begin):
        order[begin + i] = end - 1 - i
    first = strict - 1  # of equal keys, up to i
    for i in range(strict, end + 1):
        if i == end or keys[i] != keys[first]:
            for k in range(first, i):
                order[begin + end - i + k - first] = k
            first = i
    return end


@njit
def insert_positions(keys, order, begin, end, stop):
    """Insert positions [end, stop) into order[begin:end], which ascends; returns the number of steps."""
    steps = 0
    for i in range(end, stop):
        slot = i
        while slot > begin and keys[order[slot - 1]] > keys[i]:
            order[slot] = order[slot - 1]
            slot -= 1
        order[slot] = i
        steps += i - slot
    return steps


@njit
def find_runs(keys, order, least, most, ends):
    """The number of runs of order, which end at ends: positions of the keys, ascending within each run.

    Insertion lengthens runs to `least` keys. 0 if there are more than `most` runs, or keys are far from their places.
    """
    count = begin = steps = pieces = ends[0] = 0
    while begin < keys.size:
        end = place_run(keys, begin, order)
        pieces += 1
        if least == 1 and pieces > most:
            return 0
        if end - begin < least:
            stop = min(begin + least, keys.size)
            steps += insert_positions(keys, order, begin, end, stop)
            end = stop
            if steps > 4 * (end + LEAST):
                return 0
        if count == 0 or keys[order[begin - 1]] > keys[order[begin]]:
            if count == most:
                return 0
            count += 1
        ends[count - 1] = begin = end
    return count


@njit
def is_before(keys, one, key, place):
    """Return True if the key at a position is before the key of another one; equal keys by position."""
    return keys[one] < key or (keys[one] == key and one < place)


@njit
def first_behind(keys, order, low, high, place):
    """The first slot of [low, high) of order, ascending, whose key is behind that of place; high if there is none."""
    key = keys[place]
    while low < high:
        middle = (low + high) // 2
        if is_before(keys, order[middle], key, place):
            low = middle + 1
        else:
            high = middle
    return low


@njit
def insert_sorted(keys, order, begin, end, others):
    """Merge order[begin:end] and a few others, both ascending, into order[begin:], from the end, by galloping."""
    for k in range(others.size - 1, -1, -1):
        place = others[k]
        key, high, step = keys[place], end, 1
        while high - step >= begin and not is_before(keys, order[high - step], key, place):
            high, step = high - step, 2 * step
        low = first_behind(keys, order, max(high - step, begin), high, place)
        for slot in range(end - 1, low - 1, -1):
            order[slot + k + 1] = order[slot]
        order[low + k], end = place, low


@njit
def append_sorted(keys, order, begin, end, others):
    """Merge a few others and order[begin:end], both ascending, into order[:end], which has room before begin."""
    for k in range(others.size):
        place = others[k]
        key, low, step = keys[place], begin, 1
        while low + step <= end and is_before(keys, order[low + step - 1], key, place):
            low, step = low + step, 2 * step
        high = first_behind(keys, order, low, min(low + step, end), place)
        gap = others.size - k
        for slot in range(begin, high):
            order[slot - gap] = order[slot]
        order[high - gap], begin = place, high


@njit
def merge(keys, order, begin, middle, end, scratch):
    """Merge the runs [begin, middle) and [middle, end) of order; of equal keys the first run's come first."""
    begin = first_behind(keys, order, begin, middle, order[middle])
    if begin == middle:
        return
    end = first_behind(keys, order, middle, end, order[middle - 1])
    first, second = middle - begin, end - middle
    if second * LEAST < first:
        scratch[:second] = order[middle:end]
        insert_sorted(keys, order, begin, middle, scratch[:second])
        return
    scratch[:first] = order[begin:middle]
    if keys[order[end - 1]] < keys[scratch[0]]:
        for slot in range(begin, begin + second):
            order[slot] = order[slot + first]
        order[begin + second : end] = scratch[:first]
        return
    if first * LEAST < second:
        append_sorted(keys, order, middle, end, scratch[:first])
        return
    a, b, slot, bound, stop = U64(0), U64(middle), U64(begin), U64(first), U64(end)  # no sign to test
    own, other = keys[U32(scratch[a])], keys[U32(order[b])]
    while True:
        if other < own:
            order[slot] = order[b]
            b += U64(1)
            slot += U64(1)
            if b == stop:
                break
            other = keys[U32(order[b])]
        else:
            order[slot] = scratch[a]
            a += U64(1)
            slot += U64(1)
            if a == bound:
                break
            own = keys[U32(scratch[a])]
    for i in range(bound - a):
        order[slot + i] = scratch[a + i]


@njit
def merge_runs(keys, order, ends, count, scratch):
    """Merge the runs of order, which end at ends[:count]."""
    while count > 1:
        low = 0
        for run in range(0, count, 2):
            middle, end = ends[run], ends[min(run + 1, count - 1)]
            if middle < end:
                merge(keys, order, low, middle, end, scratch)
            ends[run // 2] = low = end
        count = (count + 1) // 2


@njit
def take_out(keys, order, others):
    """(number of keys in order, number of others): positions, the first ascending in order; (0, 0) for many others.

    A key goes to the others if it is below the last one in order. That one goes instead if it alone is out of order, or
    if RECENT keys in a row were below it. Keys that mostly fall are read backwards; then equal ones go too.
    """
    size, kept, taken, row, i = keys.size, 0, 0, 0, 0
    is_rising = keys[size // 4] <= keys[size - 1 - size // 4]
    first, step = (0, 1) if is_rising else (size - 1, -1)
    while i < size:
        place = first + i * step
        key = keys[place]
        last = keys[order[kept - 1]] if kept else key
        if kept == 0 or key > last or (key == last and is_rising):
            order[kept] = place
            kept, row, i = kept + 1, 0, i + 1
            continue
        if taken + RECENT > min(8 * RECENT + size // 32 + i // 3, others.size):
            return 0, 0
        previous = keys[order[kept - 2]] if kept > 1 else last
        if row == 0 and (key > previous or (key == previous and is_rising)):
            others[taken], order[kept - 1] = order[kept - 1], place
            taken, i = taken + 1, i + 1
        elif row < RECENT:
            others[taken] = place
            taken, row, i = taken + 1, row + 1, i + 1
        else:
            taken, i = taken - row, i - row
            largest = keys[first + i * step]
            for k in range(i + 1, i + row):
                largest = max(largest, keys[first + k * step])
            while kept and keys[order[kept - 1]] >= largest and taken < others.size:
                kept -= 1
                others[taken] = order[kept]
                taken += 1
            row = 0
    return kept, taken


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
def sort_keys(keys, order, size, scratch):
    """Sort the positions order[:size] by their keys, equal ones in their order: insertion or radix sort."""
    entries, places, counts = scratch
    for i in range(size):
        entries[0, i], places[0, i] = integer_key(keys[order[i]]), order[i]
    row = 0
    if size <= SHORT:
        insertion(entries[0], places[0], size)
    else:
        row = radix_sort(entries, places, size, counts)
    for i in range(size):
        order[i] = places[row, i]


@njit
def has_nan(keys):
    """Return True if a key is NaN."""
    found = 0
    for i in range(keys.size):
        found += keys[i] != keys[i]
    return found > 0


@njit
def sort_segment(keys, order, ends, others, scratch):
    """Positions of the keys, ascending, by the first method that suits: runs, few others, insertion or bytes."""
    if has_nan(keys) or not sort_in_parts(keys, order, ends, others, scratch):
        for i in range(keys.size):
            order[i] = i
        sort_keys(keys, order, keys.size, scratch)


@njit
def sort_in_parts(keys, order, ends, others, scratch):
    """Sort keys that are nearly in order or a few runs; False, and any order, for others."""
    size, most = keys.size, min(1 + keys.size // 64, ends.size)
    runs = find_runs(keys, order, 1, most, ends)
    behind = size - ends[0]  # the first run
    if (runs == 0 or runs > 2) and behind <= size // 4:
        for i in range(size - behind, size):
            order[i] = i
        sort_keys(keys, order[size - behind :], behind, scratch)
        runs, ends[1] = 2, size
    if runs == 0 and size > SHORT:
        kept, taken = take_out(keys, order, others[: size // 3])
        if kept:
            others[:taken].sort()
            sort_keys(keys, others, taken, scratch)
            insert_sorted(keys, order, 0, kept, others[:taken])
            return True
        runs = find_runs(keys, order, LEAST, most, ends)
    merge_runs(keys, order, ends, runs, scratch[1][0])
    return runs > 0


@njit
def argsort_range(keys, offsets, first, last, order):
    """Segments [first, last), one after the other."""
    longest = 0
    for segment in range(first, last):
        longest = max(longest, offsets[segment + 1] - offsets[segment])
    entries, places = np.empty((2, longest), np.uint64), np.empty((2, longest), np.int32)
    scratch = entries, places, np.empty((8, 256), np.uint32)
    ends, others = np.empty(RUNS, np.int64), np.empty(longest // 3, np.int32)
    for segment in range(first, last):
        begin, end = offsets[segment], offsets[segment + 1]
        if end - begin <= LEAST:
            for i in range(end - begin):
                entries[0, i], places[0, i] = integer_key(keys[begin + i]), i
            insertion(entries[0], places[0], end - begin)
            for i in range(end - begin):
                order[begin + i] = places[0, i]
            continue
        sort_segment(keys[begin:end], order[begin:end], ends, others, scratch)


@by_block(lambda: PARTS)
def argsort_segments(start, stop, keys, offsets, order):
    """Twin of kernels.argsort_segments: runs merged, else insertion or radix sort, segment by segment."""
    total, segments = offsets[-1], offsets.size - 1
    for part in range(start, stop):
        first = lower_bound(offsets, total * part // PARTS, 0, segments)
        last = lower_bound(offsets, total * (part + 1) // PARTS, 0, segments)
        if first < last:
            argsort_range(keys, offsets, first, last, order)


@njit
def first_nan(keys, found):
    """Twin of kernels.first_nan."""
    for i in range(keys.size):
        if np.isnan(keys[i]):
            found[0] = min(found[0], i)
            return
