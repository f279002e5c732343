"""Which neighbours of an item a user rated, and how."""

from gpukit._jit import njit, prange
from gpukit.factorization.model.layout import NO_NEIGHBOR


@njit(parallel=True)
def neighbor_codes(history, query, neighbors, out, tables):
    """Twin of kernels.codes.neighbor_codes."""
    workers = tables.shape[0]
    for worker in prange(workers):
        table = tables[worker]
        for row in range(worker, history.indptr.size - 1, workers):
            for t in range(history.indptr[row], history.indptr[row + 1]):
                table[history.items[t]] = history.codes[t]
            for t in range(query.indptr[row], query.indptr[row + 1]):
                line, near = out[query.places[t]], neighbors[query.items[t]]
                for k in range(near.size):
                    line[k] = table[near[k]] if near[k] >= 0 else NO_NEIGHBOR
            for t in range(history.indptr[row], history.indptr[row + 1]):
                table[history.items[t]] = 0


@njit
def clear_tables(tables):
    """Twin of kernels.codes.clear_tables."""
    tables[:] = 0
