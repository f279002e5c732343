"""Host steps of the search by buckets on the CPU; gpu.py has the same functions."""

import numpy as np

from gpukit.neighbors.search.buckets import plan, twins
from gpukit.runtime.thread_count import get_num_threads
from gpukit.sorting import cpu as sorting


def rows_together():
    """Return the number of query rows processed together."""
    return get_num_threads()


def sorted_tables(items, settings):
    """Return (hashes (q, N) float32, mates (q, N) int32): hashes of each fine hashing, and the sorted items."""
    shape = settings.q, len(items.codes)
    hashes, mates = np.empty(shape, np.float32), np.empty(shape, np.int32)
    twins.table_hashes(items.codes, items.rated, settings.p * settings.bits, hashes)
    sorting.argsort(hashes.ravel(), sorting.plan(plan.table_offsets(*shape), np.float32), mates.ravel())
    return hashes, mates


def stripes(items, settings):
    """Return stripe(first, keys) of gpukit.neighbors.search."""
    width, tables = settings.p * settings.bits, sorted_tables(items, settings)

    def stripe(first, keys):
        twins.fill(keys.ravel(), np.uint32(settings.q))
        twins.bucket_matches(items.codes, items.rated, width, *tables, first, keys)

    return stripe
