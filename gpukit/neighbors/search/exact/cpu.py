"""Host steps of the exact search on the CPU; gpu.py has the same functions."""

import numpy as np

from gpukit.neighbors.search.exact import plan, twins
from gpukit.runtime.thread_count import get_num_threads
from gpukit.selection.twins import smallest_listed

STRIPE = 1 << 21  # items listed by a stripe: about the cache's size


def selections(items, settings, runs):
    """Yield (first, selected) of gpukit.neighbors.search."""
    table = items.columns
    numbers = plan.whole_numbers(table.values, int(np.diff(table.indptr).max()))
    return select_pairs(table, numbers, settings.n_neighbors, runs)


def select_pairs(table, numbers, n_neighbors, runs):
    """Yield (first, (items (B, K) int32, keys (B, K) uint32)): the best pairs of the query rows of runs, in stripes.

    table: a gpukit.neighbors.columns.Columns; numbers: its levels as whole numbers, empty for clicks.
    """
    starts, rows, n_items = table.indptr, table.by_user, len(table.indptr) - 1
    pairs, most = np.empty(n_items, np.int64), max(STRIPE, 2 * get_num_threads() * n_items)
    twins.count_pairs(starts, table.users, rows.starts, pairs)
    for first, begins in plan.stripes(pairs, runs, n_neighbors, most):
        entries, sizes = np.empty(begins[-1], np.uint64), np.zeros(len(begins) - 1, np.int32)
        by_item, by_user = (starts, table.users, table.levels), (rows.starts, rows.others, rows.codes)
        twins.list_pairs(*by_item, *by_user, numbers, first, begins, entries, sizes)
        yield first, smallest_listed(begins, sizes, entries, n_neighbors)
