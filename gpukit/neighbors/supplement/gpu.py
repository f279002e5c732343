"""Host steps of the supplement on the GPU; arrays stay there."""

import numpy as np

from gpukit._driver import device_array, launch, zeros
from gpukit.neighbors.plan import Lists, blocks
from gpukit.neighbors.supplement import kernels, plan

BLOCK = 64


def empty_lists(n_items, n_neighbors):
    """Return uninitialized Lists."""
    shape, empty = (n_items, n_neighbors), device_array
    return Lists(empty(shape, np.int32), empty(shape, np.float32), empty(n_items, np.int32))


def fill_slots(selected, first, worst, seed, lists):
    """See cpu.fill_slots."""
    n_items = lists.neighbors.shape[0]
    key, half = plan.supplement_key(seed), plan.permutation_half(n_items)
    grid = blocks(selected[0].shape[0], BLOCK)
    launch(kernels.fill_slots, grid, BLOCK, *selected, first, worst, key, half, n_items, *lists)


def random_lists(n_items, n_neighbors, seed):
    """See cpu.random_lists."""
    lists = empty_lists(n_items, n_neighbors)
    shape = lists.neighbors.shape
    fill_slots((zeros(shape, np.int32), zeros(shape, np.uint32)), 0, 0, seed, lists)
    return lists
