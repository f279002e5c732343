"""CPU twin of kernels.py: the same name, the same arguments in the same order, the same integers."""

import numpy as np

from gpukit._jit import njit
from gpukit.neighbors.formulas import NOBODY, agreement, first_mate, in_list, table_code, table_hash
from gpukit.random import bits, shuffle_index
from gpukit.scheduler import by_block

U32, U64 = np.uint32, np.uint64
TILE = 128  # items per row: a word of all of them is a row, so that the lanes of a vector are items


@njit
def popcount(x):
    """Return the set bits of a 64-bit word (in the form that LLVM converts to a vector instruction)."""
    x = x - ((x >> U64(1)) & U64(0x5555555555555555))
    x = (x & U64(0x3333333333333333)) + ((x >> U64(2)) & U64(0x3333333333333333))
    x = (x + (x >> U64(4))) & U64(0x0F0F0F0F0F0F0F0F)
    return (x * U64(0x0101010101010101)) >> U64(56)


@njit
def double_word(codes, item, number):
    """Return words 2 * number and 2 * number + 1 of an item's code as one, zero after its end."""
    word, n_words = 2 * number, codes.shape[1]
    low = U64(codes[item, word]) if word < n_words else U64(0)
    high = U64(codes[item, word + 1]) if word + 1 < n_words else U64(0)
    return (high << U64(32)) | low


@njit
def turn(codes, first, tile):
    """tile[k, i] = double word k of item first + i, for existing items; zero after the end of a code."""
    for i in range(min(TILE, codes.shape[0] - first)):
        for k in range(tile.shape[0]):
            tile[k, i] = double_word(codes, first + i, k)


@njit
def add_differences(codes, query, tile, k, distances):
    """distances (TILE,) += differing bits of four double words from k on of the query and of the items of a tile."""
    a, b = double_word(codes, query, k), double_word(codes, query, k + 1)
    c, d = double_word(codes, query, k + 2), double_word(codes, query, k + 3)
    for i in range(TILE):
        first = popcount(a ^ tile[k, i]) + popcount(b ^ tile[k + 1, i])
        distances[i] += U32(first + popcount(c ^ tile[k + 2, i]) + popcount(d ^ tile[k + 3, i]))


@njit
def write_row(distances, rated, query, first, keys):
    """Write the keys (n,) of a query and of items first, first + 1, ... from their distances."""
    usable = rated[query]
    for i in range(keys.size):
        keys[i] = distances[i] if usable and rated[first + i] else NOBODY
    if first <= query < first + keys.size:
        keys[query - first] = NOBODY


@by_block(lambda codes: -(-len(codes) // TILE))
def hamming_distances(start, stop, codes, rated, first, keys):
    """Twin of kernels.hamming_distances; a tile of items is transposed once for all queries."""
    n_words, step = codes.shape[1], 4  # rows of a tile that are compared together
    for number in range(start, stop):
        begin = number * TILE
        rows = (n_words + 2 * step - 1) // (2 * step) * step
        tile, distances = np.empty((rows, TILE), np.uint64), np.empty(TILE, np.uint32)
        turn(codes, begin, tile)
        for row in range(keys.shape[0]):
            distances[:] = U32(0)
            for k in range(0, tile.shape[0], step):
                add_differences(codes, first + row, tile, k, distances)
            write_row(distances, rated, first + row, begin, keys[row, begin : begin + TILE])


@by_block(lambda array: array.size)
def fill(start, stop, array, value):
    """Twin of kernels.fill."""
    for k in range(stop - start):
        t = start + k
        array[t] = value


@by_block(lambda hashes: hashes.shape[0], heavy=True)
def table_hashes(start, stop, codes, rated, width, hashes):
    """Twin of kernels.table_hashes."""
    for table in range(start, stop):
        for item in range(codes.shape[0]):
            code = table_code(codes, item, table, width)
            hashes[table, item] = table_hash(code) if rated[item] else np.float32(np.inf)


@by_block(lambda keys: keys.shape[0], heavy=True)
def bucket_matches(start, stop, codes, rated, width, hashes, mates, first, keys):
    """Twin of kernels.bucket_matches."""
    for row in range(start, stop):
        query = first + row
        for table in range(hashes.shape[0] if rated[query] else 0):
            code, key = table_code(codes, query, table, width), hashes[table, query]
            t = first_mate(hashes, mates, table, key)
            while t < mates.shape[1] and hashes[table, mates[table, t]] == key:
                mate = mates[table, t]
                if mate != query and table_code(codes, mate, table, width) == code:
                    keys[row, mate] -= U32(1)
                t += 1


@by_block(lambda indices: indices.shape[0])
def fill_slots(start, stop, indices, values, first, worst, key, half, lists):
    """Twin of kernels.fill_slots."""
    neighbors, scores, random_slots = lists
    k, n_items = indices.shape[1], neighbors.shape[0]
    for row in range(start, stop):
        item = first + row
        result = 0
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
                scores[item, slot] = np.nan
                slot += 1
