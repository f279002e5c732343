"""Ratings of an item's neighbours by a user, as codes."""

import numpy as np

from gpukit._cuda import cuda, device, kernel
from gpukit.factorization.model.layout import NO_NEIGHBOR
from gpukit.primitives.search import lower_bound, upper_bound

U32, I32, I64, U64 = np.uint32, np.int32, np.int64, np.uint64
LANES = 8  # threads that write a line together


@device
def enter(history, row, thread, step, table):
    """Write the codes of a user's ratings to a table by item.

    The table must have no codes of another user.
    """
    for t in range(U64(history.indptr[U32(row)]) + thread, U64(history.indptr[U32(row + 1)]), step):
        table[U32(history.items[t])] = history.codes[t]


@device
def clear(history, row, thread, step, table):
    """Remove what `enter` wrote."""
    for t in range(U64(history.indptr[U32(row)]) + thread, U64(history.indptr[U32(row + 1)]), step):
        table[U32(history.items[t])] = 0


@device
def code_of(table, neighbor):
    """Return the code of an item row in a table.

    A negative row is an empty slot.
    """
    return U32(table[U32(neighbor)]) if neighbor >= 0 else U32(NO_NEIGHBOR)


@device
def answer(query, row, neighbors, thread, step, table, out):
    """Write the lines of out for one user's queried items.

    Codes are in table; LANES threads write a line.
    """
    lane, words = U32(U32(thread) % U32(LANES)), U32(neighbors.shape[1] // 4)
    for t in range(U64(query.indptr[U32(row)]) + thread // LANES, U64(query.indptr[U32(row + 1)]), step // LANES):
        item, place = U32(query.items[t]), U64(query.places[t])
        for w in range(lane, words, U32(LANES)):
            k, word = U32(U32(4) * w), U32(0)
            for part in range(4):
                word |= U32(code_of(table, neighbors[item, U32(k + U32(part))]) << U32(8 * part))
            out[place, w] = word


@kernel
def clear_tables(tables):
    """Set tables to 0.

    tables (blocks, any) uint8, overwritten.

    Launch: one block a line of tables, any block.
    Deterministic: yes, exact.
    Source: ours.
    """
    for item in range(cuda.threadIdx.x, tables.shape[1], cuda.blockDim.x):
        tables[U32(cuda.blockIdx.x), U32(item)] = 0


@kernel
def neighbor_codes(history, query, neighbors, out, tables):
    """Write the codes of each queried item's neighbours: sets R and N of Eq. (1).

    history: arrays.History; query: arrays.Query, n pairs by user; neighbors (N + 1, K) int32, -1 for none; out (n, K /
    4) uint32, four neighbours a word: 0 unrated, 255 no neighbour, else the code; tables (blocks, N + 1) uint8, all
    zero before and after.

    Launch: any grid up to tables' lines, blocks of a multiple of 8 threads.
    Deterministic: yes, exact.
    Source: the split S^K(j) = R^K(i;j) + N^K(i;j), Li et al. 2022, sec. 4.2.
    """
    thread, step = U64(cuda.threadIdx.x), U64(cuda.blockDim.x)
    table = tables[U32(cuda.blockIdx.x)]
    for row in range(I32(cuda.blockIdx.x), I32(history.indptr.size - 1), I32(cuda.gridDim.x)):
        if query.indptr[U32(row)] == query.indptr[U32(row + 1)]:  # the same for the whole block
            continue
        enter(history, row, thread, step, table)
        cuda.syncthreads()
        answer(query, row, neighbors, thread, step, table, out)
        cuda.syncthreads()
        clear(history, row, thread, step, table)
        cuda.syncthreads()


@device
def code_in(history, begin, end, neighbor):
    """Return the code of an item in a user's ratings, by bisection.

    begin:end: the user's ratings. A negative row is an empty slot.
    """
    if neighbor < 0:
        return U32(NO_NEIGHBOR)
    place = lower_bound(history.items, neighbor, begin, end)
    rated = place < end and history.items[U64(min(place, end - I64(1)))] == neighbor
    return U32(history.codes[U64(place)]) if rated else U32(0)


@kernel
def look_up_codes(history, query, neighbors, out):
    """Write neighbor_codes for few pairs, by bisection in the user's ratings.

    history: arrays.History, whose items rise within a user; query: arrays.Query, the n pairs; neighbors (N + 1, K)
    int32 and out (n, K / 4) uint32 as in neighbor_codes.

    Launch: any grid, blocks of a multiple of 8 threads.
    Deterministic: yes, exact.
    Source: as neighbor_codes.
    """
    lane, words = I64(cuda.threadIdx.x) % I64(LANES), I64(neighbors.shape[1] // 4)
    first, step = I64(cuda.grid(1)) // I64(LANES), I64(cuda.gridsize(1)) // I64(LANES)
    for t in range(first, I64(query.places.size), step):
        row = U64(upper_bound(query.indptr, t, 0, query.indptr.size) - I64(1))
        begin, end = I64(history.indptr[row]), I64(history.indptr[row + U64(1)])
        item, place = U32(query.items[U64(t)]), U64(query.places[U64(t)])
        for w in range(lane, words, I64(LANES)):
            word = U32(0)
            for part in range(4):
                code = code_in(history, begin, end, neighbors[item, U32(4 * w + part)])
                word |= U32(code << U32(8 * part))
            out[place, U64(w)] = word
