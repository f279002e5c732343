"""CPU twins of kernels.py: the same names, the same arguments in the same order, the same integers."""

import numpy as np

from gpukit._jit import njit
from gpukit.neighbors.formulas import NOBODY, SQUARE_BITS, cosine_key, pair_key
from gpukit.neighbors.search.exact_plan import chunk_edges
from gpukit.scheduler import by_block

I64, U64 = np.int64, np.uint64
HALF = U64(32)
COUNTED = I64(1 << SQUARE_BITS)  # a word that counts one


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
