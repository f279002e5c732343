"""Host steps of the search by buckets on the GPU; cpu.py has the same functions. Arrays stay on the device."""

import numpy as np

from gpukit._driver import device_array, launch
from gpukit.neighbors.plan import blocks
from gpukit.neighbors.search.buckets import kernels, plan
from gpukit.sorting import gpu as sorting

BLOCK = 256
FILLED = 8  # entries per thread


def rows_together():
    """Return the number of query rows processed together."""
    return BLOCK // kernels.MATCH_LANES


def table_blocks(q, count):
    """Return the blocks of a launch with `count` threads for each of q tables.

    The grid has one dimension, because the others end at 65,535.
    """
    return q * blocks(count, BLOCK)


def sorted_tables(items, settings):
    """See cpu.sorted_tables."""
    shape = settings.q, items.codes.shape[0]
    hashes, mates = device_array(shape, np.float32), device_array(shape, np.int32)
    width = settings.p * settings.bits
    launch(kernels.table_hashes, table_blocks(*shape), BLOCK, items.codes, items.rated, width, hashes)
    tables = sorting.plan(plan.table_offsets(*shape), np.float32, block_size=BLOCK)
    sorting.argsort(hashes.ravel(), tables, mates.ravel())
    return hashes, mates


def stripes(items, settings):
    """Return stripe(first, keys) of gpukit.neighbors.search."""
    width, tables = settings.p * settings.bits, sorted_tables(items, settings)

    def stripe(first, keys):
        launch(kernels.fill, blocks(keys.size // FILLED, BLOCK), BLOCK, keys.ravel(), settings.q)
        grid = table_blocks(settings.q, kernels.MATCH_LANES * keys.shape[0])
        launch(kernels.bucket_matches, grid, BLOCK, items.codes, items.rated, width, *tables, first, keys)

    return stripe
