"""Which neighbours of an item a user rated, and how."""

import numpy as np

from gpukit._cuda import cuda, device, kernel
from gpukit.factorization.model.layout import NO_NEIGHBOR

U32, I32, U64 = np.uint32, np.int32, np.uint64


@device
def enter(history, row, thread, step, table):
    """Write the codes of a user's ratings to their items' places; those of no other user may stand there."""
    for t in range(U64(history.indptr[U32(row)]) + thread, U64(history.indptr[U32(row + 1)]), step):
        table[U32(history.items[t])] = history.codes[t]


@device
def clear(history, row, thread, step, table):
    """Take away what `enter` wrote."""
    for t in range(U64(history.indptr[U32(row)]) + thread, U64(history.indptr[U32(row + 1)]), step):
        table[U32(history.items[t])] = 0


@device
def answer(query, row, neighbors, thread, step, table, out):
    """The lines of out for the items that are asked for of one user, from the codes in table."""
    begin, end = U64(query.indptr[U32(row)]), U64(query.indptr[U32(row + 1)])
    size = U64(neighbors.shape[1])
    for x in range(thread, U64(end - begin) * size, step):
        t, k = U64(begin + x // size), U32(x % size)
        neighbor = neighbors[U32(query.items[t]), k]
        out[U64(query.places[t]), k] = table[U32(neighbor)] if neighbor >= 0 else np.uint8(NO_NEIGHBOR)


@kernel
def neighbor_codes(history, query, neighbors, out, tables):
    """Which neighbours of each queried item its user rated, and how: the sets R and N of Eq. (1).

    history: prepare.History, what each user rated; query: prepare.Query, the n pairs asked for, by user; neighbors
    (N + 1, K) int32, -1 for none; out (n, K) uint8: 0 unrated, 255 no neighbour, else the code; tables (blocks, N + 1)
    uint8, all zero before and after.

    Launch: any grid up to tables' lines, any block.
    Deterministic: yes, exact.
    Source: the split S^K(j) = R^K(i;j) + N^K(i;j), Li et al. 2022, sec. 4.2.
    """
    thread, step = U64(cuda.threadIdx.x), U64(cuda.blockDim.x)
    table = tables[U32(cuda.blockIdx.x)]
    for row in range(I32(cuda.blockIdx.x), I32(history.indptr.size - 1), I32(cuda.gridDim.x)):
        enter(history, row, thread, step, table)
        cuda.syncthreads()
        answer(query, row, neighbors, thread, step, table, out)
        cuda.syncthreads()
        clear(history, row, thread, step, table)
        cuda.syncthreads()
