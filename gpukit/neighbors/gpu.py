"""Neighbours on the GPU: steps of the hashes and searches, which plan.py runs. cpu.py has the same functions.

Arrays stay on the device.
"""

import functools
import sys

import numpy as np

from gpukit._driver import Mark, device_array, launch
from gpukit.device import memory
from gpukit.device.gpu_arrays import empty, fetch, resident, zeros  # noqa: F401  (steps)
from gpukit.device.upload import to_device
from gpukit.neighbors import formulas, hash_kernels, plan, run
from gpukit.neighbors import search_kernels as kernels
from gpukit.neighbors.plan import CARDS, STRIPE_BYTES, Compressed, PairLists, blocks
from gpukit.selection.kernels import smallest, smallest_listed  # noqa: F401  (of run.select_keys)
from gpukit.sorting import gpu as sorting

SLICES = run.SLICES  # sums have a multiple of this number of bits, for which kernels are compiled
ROWS = 1024  # query rows of a stripe that keep all multiprocessors busy
RATINGS, CLICKS = 7, 21  # items of a thread: 43 KB of sums per block, four blocks per multiprocessor of an H200
HASH_BLOCK, BLOCK = 128, 256
STEPS = sys.modules[__name__]
add_columns = functools.partial(run.add_columns, STEPS)
search = functools.partial(run.search, STEPS)
search_rows = functools.partial(run.search_rows, STEPS)


def start(columns, settings):
    """Queue Algorithm 1; return (plan.Lists on the device, events before, between and after its two steps).

    columns: users and levels on the device. Raises ParameterError if K is too large.
    """
    plan.check_items(settings, len(columns.indptr) - 1)
    first_mark, hashed, ended = (Mark() for _ in range(3))
    first_mark.record()
    codes = None
    if CARDS[settings.search].reads_codes:
        codes = run.hash_codes(STEPS, columns, settings)
    rated = to_device((np.diff(columns.indptr) > 0).astype(np.uint8))
    hashed.record()
    lists = search(plan.Items(columns, codes, rated), settings)
    ended.record()
    return lists, (first_mark, hashed, ended)


def find(columns, settings):
    """Return the plan.Found of all items of a Columns, with lists on the device; see `start`."""
    return wait_for_lists(*start(columns, settings))


def wait_for_lists(lists, events):
    """Wait for the operations that `start` queued; return their plan.Found."""
    first_mark, hashed, ended = events
    seconds = {"hashing": first_mark.seconds_to(hashed), "search": hashed.seconds_to(ended)}
    return plan.Found(lists.neighbors, lists.scores, int(lists.random_slots.copy_to_host().sum()), seconds)


def block_of(n_words):
    """Return the block size of the hashing that leaves the fewest lanes without a word, the larger one if equal."""
    return min((128, 96, 64, 32), key=lambda block: -(-n_words // block) * block)


def launcher_of_words(make, rows, partials):
    """Return a function that queues a kernel of a maker, with the arguments of its CPU twin.

    rows, partials: positions of the arguments with a row a block, and with the sums (S, slices, W).
    """

    def launch_words(*arguments):
        _, slices, n_words = arguments[partials].shape
        block = block_of(n_words)
        launch(make(block, slices), (arguments[rows].shape[0], blocks(n_words, block)), block, *arguments)

    return launch_words


hash_columns = launcher_of_words(hash_kernels.make_hash_columns, 4, 7)
join_chunks = launcher_of_words(hash_kernels.make_join_chunks, 0, 2)
add_chunks = launcher_of_words(hash_kernels.make_add_chunks, 0, 2)


def add_totals(joins, totals, whole):
    """Queue add_totals; see hash_twins.add_totals."""
    launch(hash_kernels.add_totals, blocks(joins.shape[0], HASH_BLOCK), HASH_BLOCK, joins, totals, whole)


def hash_minwise(*arguments):
    """Queue hash_minwise; the last argument: codes."""
    launch(
        hash_kernels.hash_minwise, blocks(arguments[-1].size * hash_kernels.WARP, HASH_BLOCK), HASH_BLOCK, *arguments
    )


def project_columns(*arguments):
    """Queue project_columns; the last arguments: units, codes, partials."""
    grid = arguments[-3].shape[0], blocks(arguments[-1].shape[1], HASH_BLOCK)
    launch(hash_kernels.project_columns, grid, HASH_BLOCK, *arguments)


def join_parts(joins, partials, codes):
    """Queue join_parts."""
    launch(
        hash_kernels.join_parts,
        (joins.shape[0], blocks(partials.shape[1], HASH_BLOCK)),
        HASH_BLOCK,
        joins,
        partials,
        codes,
    )


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
    for first, begins in run.stripes(pairs, runs, n_neighbors, most):
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
    """Return stripe(first, keys); see plan.py."""

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
    """Return stripe(first, keys); see plan.py."""
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
