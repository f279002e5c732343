"""Host steps of the exact search on the GPU; cpu.py has the same functions. Arrays stay on the device."""

import numpy as np

from gpukit._driver import device_array, launch, zeros
from gpukit.device.gpu_arrays import resident
from gpukit.device.upload import to_device
from gpukit.neighbors.plan import STRIPE_BYTES, blocks
from gpukit.neighbors.search.exact import kernels, plan
from gpukit.selection.kernels import smallest_listed

BLOCK = 512
RATINGS, CLICKS = 7, 21  # items of a thread: 43 KB of sums per block, four blocks per multiprocessor of an H200


def selections(items, settings, runs):
    """Yield (first, selected) of gpukit.neighbors.search."""
    table = items.columns
    numbers = plan.whole_numbers(table.values, int(np.diff(table.indptr).max()))
    return select_pairs(table, numbers, settings.n_neighbors, runs)


def select_pairs(table, numbers, n_neighbors, runs):
    """See cpu.select_pairs; table: users, levels and by_user on the device."""
    n_items, per_thread = len(table.indptr) - 1, RATINGS if len(numbers) else CLICKS
    list_pairs = kernels.make_list_pairs(BLOCK, per_thread, len(numbers) > 0)
    starts, numbers, rows = to_device(table.indptr), resident(numbers, np.uint32), table.by_user
    pairs, tiles = device_array(n_items, np.int64), blocks(n_items, BLOCK * per_thread)
    warps = kernels.WARP * n_items
    launch(kernels.count_pairs, blocks(warps, BLOCK), BLOCK, starts, table.users, rows.starts, pairs)
    for first, begins in plan.stripes(pairs.copy_to_host(), runs, n_neighbors, STRIPE_BYTES // 8):
        n_rows, entries = len(begins) - 1, device_array(max(1, int(begins[-1])), np.uint64)
        begins, sizes = to_device(begins), zeros(n_rows, np.int32)
        by_item, by_user = (starts, table.users, table.levels), (rows.starts, rows.others, rows.codes)
        launch(list_pairs, (n_rows, tiles), BLOCK, *by_item, *by_user, numbers, first, begins, entries, sizes)
        yield first, smallest_listed(begins, sizes, entries, n_neighbors)
