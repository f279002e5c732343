"""Host steps of the exact search on the GPU; cpu.py has the same functions. Arrays stay on the device."""

import numpy as np

from gpukit._driver import launch
from gpukit.device.upload import to_device
from gpukit.neighbors.plan import blocks
from gpukit.neighbors.search.exact import kernels, plan

BLOCK, PER_THREAD = 512, 7  # 43 KB of sums per block: four blocks per multiprocessor of an H200


def rows_together():
    """Return the number of query rows processed together."""
    return 1


def stripes(items, settings):
    """Return stripe(first, keys) of gpukit.neighbors.search."""
    table, pair_distances = items.columns, kernels.make_pair_distances(BLOCK, PER_THREAD)
    by_item = to_device(table.indptr), table.users, table.levels
    by_user = table.by_user.starts, table.by_user.others, table.by_user.codes
    numbers = to_device(plan.whole_numbers(table.values, int(np.diff(table.indptr).max())))

    def stripe(first, keys):
        grid = blocks(keys.shape[1], BLOCK * PER_THREAD), keys.shape[0]
        launch(pair_distances, grid, BLOCK, *by_item, *by_user, numbers, first, keys)

    return stripe
