"""GPU kernel of the selection and its host step; twins.py has both for the CPU.

A row's entries are compared as one integer, key in front of index, so that no two are equal and ties need no care:
radix selection narrows the k-th smallest digit by digit, then the winners are put in order by counting. Of a long row
it narrows that of a sample, and one pass over the row collects the few entries up to it.
"""

import numpy as np

from gpukit._cuda import cuda, device, kernel
from gpukit._driver import device_array, launch

I32 = np.int32
U32 = np.uint32
U64 = np.uint64
FULL = np.uint32(0xFFFFFFFF)
BLOCK_SIZE = 256
DIGIT = 12
BINS = 1 << DIGIT
SHARE = BINS // BLOCK_SIZE
SLOTS = BINS + BINS // SHARE  # one left free after every 16 bins, against bank conflicts
PARTS = BLOCK_SIZE // 32
MOST = 1024  # winners that a block puts in order at a time
LONG = 1 << 15  # entries of a row that is sampled
RARE = 32  # at least 1 / RARE of a row is sampled
LOADS = 4  # entries that a thread loads before it compares them
LAST = np.uint32(0xFFFFFFFF)


@device
def bits_of(x):
    """Bits of a nonnegative integer."""
    n = 0
    while x >> n:
        n += 1
    return n


@device
def slot_of(b):
    """Where bin b stands in the histogram."""
    return U32(b + (b >> 4))


@device
def entry_of_keys(source, row, position):
    """min(key, limit) in front of the index, as one 64-bit integer; source: (keys (B, n), limit, index_bits)."""
    keys, limit, index_bits = source
    return U64(U64(min(keys[row, U32(position)], limit)) << U64(index_bits)) | U64(position)


@device
def entry_of_sample(source, row, position):
    """An entry of every `every`-th block of entries; source: (keys (B, n), limit, index_bits, every)."""
    keys, limit, index_bits, stride = source
    entry = U32(U32(position // BLOCK_SIZE) * U32(stride * BLOCK_SIZE) + U32(position % BLOCK_SIZE))
    return entry_of_keys((keys, limit, index_bits), row, entry)


@device
def listed_entry(source, row, position):
    """An entry of a list; source: (begins (B + 1,), entries (n,))."""
    return source[1][U64(source[0][row]) + U64(position)]


@device
def first_entry(indices, values, row, begin, index_bits):
    """The smallest entry that can still win: the one behind winner number begin - 1."""
    if begin == 0:
        return U64(0)
    last = U64(U64(values[row, begin - 1]) << U64(index_bits)) | U64(indices[row, begin - 1])
    return U64(last + U64(1))


@device
def add_bins(histogram, sums):
    """sums[t] = the sum of the 16 bins from 16 t on."""
    thread, total = U32(cuda.threadIdx.x), 0
    for step in range(SHARE):
        total += histogram[U32(slot_of(thread * U32(SHARE)) + U32(step))]
    sums[thread] = total
    cuda.syncthreads()


@device
def find_digit(histogram, sums, need, answer):
    """answer[0..2] = the bin that holds the need-th entry, the entries in front of it, the entries in it.

    By the first warp.
    """
    add_bins(histogram, sums)
    lane = cuda.threadIdx.x
    if lane < 32:
        count = 0
        for part in range(PARTS):
            count += sums[lane * PARTS + part]
        before = count
        reach = 1
        while reach < 32:
            other = cuda.shfl_up_sync(FULL, before, reach)
            before += other if lane >= reach else 0
            reach *= 2
        before -= count
        if before < need and need <= before + count:
            part = lane * PARTS
            while before + sums[part] < need:
                before += sums[part]
                part += 1
            digit = part * SHARE
            while before + histogram[slot_of(digit)] < need:
                before += histogram[slot_of(digit)]
                digit += 1
            answer[0], answer[1], answer[2] = digit, before, histogram[slot_of(digit)]
    cuda.syncthreads()


@device
def order_winners(best, count, k, row, begin, index_bits, indices, values):
    """Write the k smallest of best[:count] in ascending order, from place begin on.

    An entry's place is the number of smaller ones.
    """
    for slot in range(cuda.threadIdx.x, count, BLOCK_SIZE):
        own_key, place = best[slot], 0
        for other in range(count):
            place += 1 if best[other] < own_key else 0
        if place < k:
            indices[row, begin + place] = np.int32(own_key & U64((1 << index_bits) - 1))
            values[row, begin + place] = U32(own_key >> U64(index_bits))


def make_search(entry):
    """Return (find_last, collect) over the `size` entries of a row: entry(source, row, position), all distinct."""

    @device
    def count_digits(source, row, size, least, shift, width, prefix, histogram):
        """Histogram of the digit at `shift` (width bits) over the entries from least on whose higher bits equal
        prefix."""
        thread = cuda.threadIdx.x
        for b in range(U32(thread), U32(SLOTS), U32(BLOCK_SIZE)):
            histogram[b] = 0
        cuda.syncthreads()
        for position in range(U32(thread), U32(size), U32(BLOCK_SIZE)):
            key = entry(source, row, position)
            if key >= least and key >> U64(shift + width) == prefix:
                cuda.atomic.add(histogram, slot_of(U32(key >> U64(shift)) & U32((1 << width) - 1)), 1)
        cuda.syncthreads()

    @device
    def find_last(source, row, size, bits, least, k, histogram, sums, answer):
        """(shift, prefix) such that the k smallest entries from least on are those with entry >> shift <= prefix.

        bits: of the largest entry.
        """
        shift, prefix, need, count = I32(bits), U64(0), k, I32(k + 1)
        while shift > 0 and count != need:
            width = min(I32(DIGIT), shift)
            shift = I32(shift - width)
            count_digits(source, row, size, least, shift, width, prefix, histogram)
            find_digit(histogram, sums, need, answer)
            prefix = U64(prefix << U64(width)) | U64(answer[0])
            need, count = I32(need - answer[1]), answer[2]
        return shift, prefix

    @device
    def collect(source, row, size, least, shift, prefix, answer, best):
        """best[...] = the entries from least on with entry >> shift <= prefix, in no particular order.

        Return their number; those beyond MOST are not kept.
        """
        if cuda.threadIdx.x == 0:
            answer[3] = 0
        cuda.syncthreads()
        loaded = cuda.local.array(LOADS, np.uint64)
        for start in range(U32(cuda.threadIdx.x), U32(size), U32(LOADS * BLOCK_SIZE)):
            for i in range(LOADS):
                position = U32(start + U32(i * BLOCK_SIZE))
                loaded[i] = entry(source, row, position if position < U32(size) else U32(start))
            for i in range(LOADS):
                key, is_new = loaded[i], i == 0 or U32(start + U32(i * BLOCK_SIZE)) < U32(size)
                if is_new and key >= least and key >> U64(shift) <= prefix:
                    slot = cuda.atomic.add(answer, 3, 1)
                    if slot < MOST:
                        best[slot] = key
        cuda.syncthreads()
        return answer[3]

    return find_last, collect


find_last_key, collect_keys = make_search(entry_of_keys)
find_last_listed, collect_listed = make_search(listed_entry)
find_last_sampled, _ = make_search(entry_of_sample)


@kernel(max_registers=64)
def select_smallest(keys, limit, indices, values):
    """Per row the k smallest keys, ascending, equal keys by the lower index; keys above limit count as limit.

    keys (B, n) uint32; limit uint32; indices (B, k) int32 and values (B, k) uint32 (the keys, at most limit),
    overwritten; k <= n < 2**31.
    Launch: grid B, block 256.   Deterministic: yes, exact.
    Source: radix selection (MSD), 12 bits at a time, ended as soon as the digit's entries are all wanted; 1,024 winners
    a turn, each turn among the entries behind the last winner. Of a long row one entry in `every` is a sample: its k-th
    smallest bounds that of the row, and about k * every entries are not above it. If they are more than 1,024, all
    entries are looked at for each digit.
    """
    histogram = cuda.shared.array(SLOTS, np.int32)
    sums = cuda.shared.array(BLOCK_SIZE, np.int32)
    answer = cuda.shared.array(4, np.int32)
    best = cuda.shared.array(MOST, np.uint64)
    row, size, index_bits = U32(cuda.blockIdx.x), I32(keys.shape[1]), I32(bits_of(keys.shape[1] - 1))
    source, bits = (keys, limit, index_bits), I32(bits_of(np.int64(limit)) + index_bits)
    stride = I32(min(RARE, MOST // 2 // indices.shape[1]))
    for first in range(0, indices.shape[1], MOST):
        begin, k, count = I32(first), I32(min(indices.shape[1] - first, MOST)), I32(MOST + 1)
        least = first_entry(indices, values, row, begin, index_bits)
        if size >= LONG and stride > 1:
            sample, sampled = (keys, limit, index_bits, stride), I32(size // (stride * BLOCK_SIZE) * BLOCK_SIZE)
            shift, prefix = find_last_sampled(sample, row, sampled, bits, least, k, histogram, sums, answer)
            count = I32(collect_keys(source, row, size, least, shift, prefix, answer, best))
        if count > MOST:
            shift, prefix = find_last_key(source, row, size, bits, least, k, histogram, sums, answer)
            count = I32(collect_keys(source, row, size, least, shift, prefix, answer, best))
        order_winners(best, count, k, row, begin, index_bits, indices, values)
        cuda.syncthreads()


@kernel
def select_listed(begins, sizes, entries, indices, values):
    """Per row the k smallest entries of its list, ascending; (-1, 2**32 - 1) after the last one.

    begins (B + 1,) int64: row b's list begins there; sizes (B,) int32: its entries; entries (n,) uint64: a key in front
    of 32 bits of an index below 2**31, no two of a row equal; indices (B, k) int32 and values (B, k) uint32 (the keys),
    overwritten.
    Launch: grid B, block 256.   Deterministic: yes, exact, for any order of a list.   Source: as select_smallest.
    """
    histogram = cuda.shared.array(SLOTS, np.int32)
    sums = cuda.shared.array(BLOCK_SIZE, np.int32)
    answer = cuda.shared.array(4, np.int32)
    best = cuda.shared.array(MOST, np.uint64)
    row = U32(cuda.blockIdx.x)
    size, source = sizes[row], (begins, entries)
    wanted = I32(min(I32(indices.shape[1]), size))
    for slot in range(I32(wanted + cuda.threadIdx.x), I32(indices.shape[1]), BLOCK_SIZE):
        indices[row, slot], values[row, slot] = I32(-1), FULL
    for first in range(0, wanted, MOST):
        begin, k = I32(first), I32(min(wanted - first, MOST))
        least = first_entry(indices, values, row, begin, 32)
        shift, prefix = find_last_listed(source, row, size, I32(64), least, k, histogram, sums, answer)
        collect_listed(source, row, size, least, shift, prefix, answer, best)
        order_winners(best, k, k, row, begin, 32, indices, values)
        cuda.syncthreads()


def smallest(keys, k, limit=LAST):
    """(indices (rows, k) int32, values (rows, k) uint32) on the device: as gpukit.selection.twins.smallest, k <= n."""
    indices = device_array((keys.shape[0], k), np.int32)
    values = device_array((keys.shape[0], k), np.uint32)
    launch(select_smallest, keys.shape[0], BLOCK_SIZE, keys, np.uint32(limit), indices, values)
    return indices, values


def smallest_listed(begins, sizes, entries, k):
    """(indices (rows, k) int32, values (rows, k) uint32) on the device: as gpukit.selection.twins.smallest_listed."""
    indices, values = device_array((sizes.size, k), np.int32), device_array((sizes.size, k), np.uint32)
    launch(select_listed, sizes.size, BLOCK_SIZE, begins, sizes, entries, indices, values)
    return indices, values
