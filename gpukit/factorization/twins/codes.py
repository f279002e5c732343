"""Ratings of an item's neighbours by a user, as codes."""

import numpy as np

from gpukit._jit import njit
from gpukit.factorization.model.layout import NO_NEIGHBOR
from gpukit.primitives.search import lower_bound, upper_bound
from gpukit.scheduler import by_block

U32 = np.uint32


@njit
def write_line(table, near, line):
    """Set line[k] to the code of item near[k] in a table.

    The last entry of the table is the code of -1, an empty slot.
    """
    nobody = U32(table.size - 1)
    for k in range(near.size):
        line[k] = table[min(U32(near[k]), nobody)]  # -1 is the largest uint32


@by_block(lambda tables: tables.shape[0], heavy=True)
def neighbor_codes(start, stop, history, query, neighbors, out, tables):
    """Twin of kernels.codes.neighbor_codes."""
    workers = tables.shape[0]
    for worker in range(start, stop):
        table = tables[worker]
        table[-1] = NO_NEIGHBOR
        for row in range(worker, history.indptr.size - 1, workers):
            if query.indptr[row] == query.indptr[row + 1]:
                continue
            for t in range(history.indptr[row], history.indptr[row + 1]):
                table[history.items[t]] = history.codes[t]
            for t in range(query.indptr[row], query.indptr[row + 1]):
                write_line(table, neighbors[query.items[t]], out[query.places[t]])
            for t in range(history.indptr[row], history.indptr[row + 1]):
                table[history.items[t]] = 0
        table[-1] = 0


@njit
def clear_tables(tables):
    """Twin of kernels.codes.clear_tables."""
    tables[:] = 0


@by_block(lambda query: query.places.size)
def look_up_codes(start, stop, history, query, neighbors, out):
    """Twin of kernels.codes.look_up_codes."""
    for t in range(start, stop):
        row = upper_bound(query.indptr, t, 0, query.indptr.size) - 1
        begin, end, near = history.indptr[row], history.indptr[row + 1], neighbors[query.items[t]]
        for k in range(near.size):
            place = lower_bound(history.items, near[k], begin, end)
            rated = place < end and history.items[place] == near[k]
            code = history.codes[place] if rated else 0
            out[query.places[t], k] = NO_NEIGHBOR if near[k] < 0 else code
