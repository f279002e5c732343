"""Host steps of the exact search on the CPU; gpu.py has the same functions."""

import numpy as np

from gpukit.neighbors.search.exact import plan, twins
from gpukit.runtime.thread_count import get_num_threads


def rows_together():
    """Return the number of query rows processed together."""
    return get_num_threads()


def stripes(items, settings):
    """Return stripe(first, keys) of gpukit.neighbors.search."""
    table = items.columns
    by_item = table.indptr, table.users, table.levels
    by_user = table.by_user.starts, table.by_user.others, table.by_user.codes
    numbers = plan.whole_numbers(table.values, int(np.diff(table.indptr).max()))
    return lambda first, keys: twins.pair_distances(*by_item, *by_user, numbers, first, keys)
