"""Host steps of the searches and the supplement on the GPU, where arrays stay; cpu.py has the same functions."""

import numpy as np

from gpukit._driver import device_array, launch
from gpukit.device import memory
from gpukit.device.gpu_arrays import empty, resident, zeros  # noqa: F401  (of plan.search)
from gpukit.device.upload import to_device
from gpukit.neighbors import formulas
from gpukit.neighbors.plan import STRIPE_BYTES, Compressed, PairLists, blocks
from gpukit.neighbors.search import kernels, plan
from gpukit.selection.kernels import smallest, smallest_listed  # noqa: F401  (of plan.select_keys)
from gpukit.sorting import gpu as sorting

ROWS = 1024  # query rows of a stripe that keep all multiprocessors busy
RATINGS, CLICKS = 7, 21  # items of a thread: 43 KB of sums per block, four blocks per multiprocessor of an H200
BLOCK = 256


def select_pairs(table, numbers, n_neighbors, runs):
    """See cpu.select_pairs; table: users, levels and by_user on the device."""
    list_block = 512
    n_items, per_thread = len(table.indptr) - 1, RATINGS if len(numbers) else CLICKS
    list_pairs = kernels.make_list_pairs(list_block, per_thread, len(numbers) > 0)
    by_item, by_user = Compressed(to_device(table.indptr), table.users, table.levels), Compressed(*table.by_user[1:4])
    numbers = resident(numbers, np.uint32)
    pairs, tiles = device_array(n_items, np.int64), blocks(n_items, list_block * per_thread)
    warps = kernels.WARP * n_items
    counted = *by_item[:2], by_user.starts, pairs
    launch(kernels.count_pairs, blocks(warps, list_block), list_block, *counted)
    pairs = pairs.copy_to_host()
    most = room_for(8 * (int(np.minimum(pairs, n_items).sum()) + n_items * n_neighbors)) // 8
    for first, begins in plan.stripes(pairs, runs, n_neighbors, most):
        n_rows, entries = len(begins) - 1, device_array(max(1, int(begins[-1])), np.uint64)
        lists = PairLists(to_device(begins), entries, zeros(n_rows, np.int32))
        launch(list_pairs, (n_rows, tiles), list_block, by_item, by_user, numbers, first, lists)
        yield first, smallest_listed(lists.begins, lists.sizes, entries, n_neighbors)


def stripe_bytes(n_items):
    """Return the bytes of a stripe's keys: those of ROWS rows, or of fewer."""
    return room_for(4 * n_items * ROWS)


def room_for(wanted):
    """Return the bytes of a stripe, STRIPE_BYTES or more: those wanted, or of a quarter of the free memory.

    Each stripe waits for its largest query, so few of them are faster.
    """
    return max(STRIPE_BYTES, min(wanted, memory.spare_memory() // 4)) if wanted > STRIPE_BYTES else STRIPE_BYTES


def hamming_stripes(items, settings):
    """Return stripe(first, keys); see gpukit.neighbors.search."""

    def stripe(first, keys):
        grid = blocks(keys.shape[1], kernels.TILE), blocks(keys.shape[0], kernels.TILE)
        launch(kernels.hamming_distances, grid, kernels.BLOCK, items.codes, items.rated, first, keys)

    return stripe


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
    tables = sorting.plan(formulas.table_offsets(*shape), np.float32, block_size=BLOCK)
    sorting.argsort(hashes.ravel(), tables, mates.ravel())
    return hashes, mates


def bucket_stripes(items, settings):
    """Return stripe(first, keys); see gpukit.neighbors.search."""
    filled = 8  # entries per thread
    width, tables = settings.p * settings.bits, sorted_tables(items, settings)

    def stripe(first, keys):
        launch(kernels.fill, blocks(keys.size // filled, BLOCK), BLOCK, keys.ravel(), settings.q)
        grid = table_blocks(settings.q, kernels.MATCH_LANES * keys.shape[0])
        launch(kernels.bucket_matches, grid, BLOCK, items.codes, items.rated, width, *tables, first, keys)

    return stripe


def fill_slots(selected, first, worst, seed, lists):
    """See cpu.fill_slots."""
    slot_block = 64
    key, half = formulas.supplement_key(seed), formulas.permutation_half(lists.neighbors.shape[0])
    grid, arguments = blocks(selected[0].shape[0], slot_block), (*selected, first, worst, key, half)
    launch(kernels.fill_slots, grid, slot_block, *arguments, lists)


STRIPES = {
    "hamming": (hamming_stripes, lambda: kernels.TILE),
    "buckets": (bucket_stripes, lambda: BLOCK // kernels.MATCH_LANES),
}
