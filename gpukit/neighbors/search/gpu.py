"""Host steps of the searches and the supplement on the GPU, where arrays stay; cpu.py has the same functions."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gpukit._driver import device_array, launch, zeros
from gpukit.neighbors.plan import Lists, blocks
from gpukit.neighbors.search import formulas, kernels
from gpukit.neighbors.search.exact import gpu as exact
from gpukit.sorting import gpu as sorting

BLOCK = 256
FILLED = 8  # entries per thread
SLOT_BLOCK = 64


class SearchSteps(NamedTuple):
    """Steps of a search: the functions of gpukit.neighbors.search."""

    stripes: Callable
    rows_together: Callable


def hamming_stripes(items, settings):
    """Return stripe(first, keys); see gpukit.neighbors.search."""

    def stripe(first, keys):
        grid = blocks(keys.shape[1], kernels.TILE), blocks(keys.shape[0], kernels.TILE)
        launch(kernels.hamming_distances, grid, kernels.SIDE**2, items.codes, items.rated, first, keys)

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
    width, tables = settings.p * settings.bits, sorted_tables(items, settings)

    def stripe(first, keys):
        launch(kernels.fill, blocks(keys.size // FILLED, BLOCK), BLOCK, keys.ravel(), settings.q)
        grid = table_blocks(settings.q, kernels.MATCH_LANES * keys.shape[0])
        launch(kernels.bucket_matches, grid, BLOCK, items.codes, items.rated, width, *tables, first, keys)

    return stripe


STEPS = {
    "hamming": SearchSteps(hamming_stripes, lambda: kernels.TILE),
    "buckets": SearchSteps(bucket_stripes, lambda: BLOCK // kernels.MATCH_LANES),
    "exact": exact,
}


def empty_lists(n_items, n_neighbors):
    """Return uninitialized Lists."""
    shape, empty = (n_items, n_neighbors), device_array
    return Lists(empty(shape, np.int32), empty(shape, np.float32), empty(n_items, np.int32))


def fill_slots(selected, first, worst, seed, lists):
    """See cpu.fill_slots."""
    n_items = lists.neighbors.shape[0]
    key, half = formulas.supplement_key(seed), formulas.permutation_half(n_items)
    grid = blocks(selected[0].shape[0], SLOT_BLOCK)
    launch(kernels.fill_slots, grid, SLOT_BLOCK, *selected, first, worst, key, half, n_items, *lists)


def random_lists(n_items, n_neighbors, seed):
    """See cpu.random_lists."""
    lists = empty_lists(n_items, n_neighbors)
    shape = lists.neighbors.shape
    fill_slots((zeros(shape, np.int32), zeros(shape, np.uint32)), 0, 0, seed, lists)
    return lists
