"""CPU twins of search_kernels.py: the same names, the same arguments in the same order, the same integers."""

import numpy as np

from gpukit._jit import njit
from gpukit.neighbors.formulas import (
    NOBODY,
    SQUARE_BITS,
    agreement,
    cosine_key,
    first_mate,
    in_list,
    pair_key,
    table_code,
    table_hash,
)
from gpukit.neighbors.run import chunk_edges
from gpukit.random import bits, shuffle_index
from gpukit.scheduler import by_block

I64, U32, U64 = np.int64, np.uint32, np.uint64
HALF = U64(32)
COUNTED = I64(1 << SQUARE_BITS)  # a word that counts one
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


@by_block(lambda pairs: pairs.size)
def count_pairs(start, stop, starts, users, rows, pairs):
    """Twin of kernels.count_pairs."""
    for item in range(start, stop):
        total = I64(0)
        for user in users[starts[item] : starts[item + 1]]:
            total += rows[user + 1] - rows[user]
        pairs[item] = total


@njit
def list_new(items, counts, listed, size):
    """Append the items whose count is 0 to listed[:size]; return its new size. listed has a place more than items."""
    for item in items:
        listed[size] = item  # overwritten unless the item is new
        size += counts[item] == 0
    return size


@njit
def list_met(counts, listed):
    """Write the items whose count is not 0 to `listed`; return how many. listed has a place more than items."""
    size = 0
    for item in range(counts.size):
        listed[size] = item
        size += counts[item] != 0
    return size


@njit
def add_clicks(users, rows, items, is_many, counts, listed):
    """Count the users that each item shares with a query, whose column is `users`; return the number of items met.

    is_many: there are more pairs than items. counts (N,): zero before; listed (N + 1,): the items met.
    """
    size = 0
    for user in users:
        row = items[rows[user] : rows[user + 1]]
        if not is_many:
            size = list_new(row, counts, listed, size)
        for item in row:
            counts[item] += 1
    return list_met(counts, listed) if is_many else size


@njit
def list_cosines(query, size, lengths, counts, listed, entries):
    """List the pairs of a query that share a user, and zero their counts; return the number of pairs.

    lengths (N,) int32: users of each item, which take half the cache that starts would.
    """
    length, n = I64(lengths[query]), 0
    for k in range(size):
        item = U64(listed[k])  # without checks for a negative index
        if item != query:
            entries[n] = entry_of(cosine_key(length, I64(lengths[item]), counts[item]), item)
            n += 1
        counts[item] = 0
    return n


@njit
def add_row(items, codes, numbers, squares, own, x, sums):
    """Add the ratings of one user, whose rating of the query is x, for the items of their row."""
    for t in range(items.size):
        j, code = items[t], codes[t]
        sums[j, 0] += own
        sums[j, 1] += squares[code]
        sums[j, 2] += x * numbers[code] + COUNTED


@njit
def add_ratings(column, rows, by_user, numbers, is_many, sums, listed):
    """Add the sums of a query, whose column is (users, levels), with all items; return the number of items met.

    by_user: (items, codes); is_many, listed: as in add_clicks; sums (N, 4): zero before, the last
    column unused, so that rows are vectors.
    """
    (users, levels), (items, codes) = column, by_user
    size, squares = 0, numbers * numbers + numbers * COUNTED
    for t in range(users.size):
        begin, end = rows[users[t]], rows[users[t] + 1]
        x, own = numbers[levels[t]], squares[levels[t]]
        if not is_many:
            size = list_new(items[begin:end], sums[:, 2], listed, size)
        add_row(items[begin:end], codes[begin:end], numbers, squares, own, x, sums)
    return list_met(sums[:, 2], listed) if is_many else size


@njit
def list_correlations(query, size, sums, listed, entries):
    """List the neighbouring pairs of a query, and zero their sums; return the number of pairs."""
    n = 0
    for item in listed[:size]:
        key = pair_key(sums[item, 0], sums[item, 1], sums[item, 2])
        if item != query and key != NOBODY:
            entries[n] = entry_of(key, item)
            n += 1
        sums[item, 0] = sums[item, 1] = sums[item, 2] = 0
    return n


@njit
def entry_of(key, item):
    """Return a key in front of 32 bits of an item."""
    return (U64(key) << HALF) | U64(item)


@by_block(lambda edges: edges.size - 1, heavy=True)
def list_chunks(start, stop, edges, lengths, by_item, by_user, levels_whole, first, lists):
    """list_pairs of the query rows edges[c] to edges[c + 1] for the chunks c from start to stop."""
    (starts, users, levels), (rows, items, codes), (begins, entries, sizes) = by_item, by_user, lists
    n_items, numbers = starts.size - 1, levels_whole.astype(I64)
    for chunk in range(start, stop):
        listed, clicks = np.empty(n_items + 1, np.int32), numbers.size == 0
        counts, sums = np.zeros(n_items if clicks else 0, np.int32), np.zeros((0 if clicks else n_items, 4), I64)
        for row in range(edges[chunk], edges[chunk + 1]):
            query, row_entries = first + row, entries[begins[row] : begins[row + 1]]
            column, is_many = users[starts[query] : starts[query + 1]], row_entries.size == n_items
            if clicks:
                size = add_clicks(column, rows, items, is_many, counts, listed)
                sizes[row] = list_cosines(query, size, lengths, counts, listed, row_entries)
            else:
                arguments = column, levels[starts[query] : starts[query + 1]]
                size = add_ratings(arguments, rows, (items, codes), numbers, is_many, sums, listed)
                sizes[row] = list_correlations(query, size, sums, listed, row_entries)


def list_pairs(by_item, by_user, levels_whole, first, lists):
    """Twin of kernels.list_pairs."""
    lengths = np.diff(by_item.starts).astype(np.int32)
    list_chunks(chunk_edges(lists.begins, len(lengths)), lengths, by_item, by_user, levels_whole, first, lists)
