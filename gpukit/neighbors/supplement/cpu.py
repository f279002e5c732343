"""Host steps of the supplement on the CPU; gpu.py has the same functions."""

import numpy as np

from gpukit.neighbors.plan import Lists
from gpukit.neighbors.supplement import plan, twins


def empty_lists(n_items, n_neighbors):
    """Return uninitialized Lists."""
    shape = n_items, n_neighbors
    return Lists(np.empty(shape, np.int32), np.empty(shape, np.float32), np.empty(n_items, np.int32))


def fill_slots(selected, first, worst, seed, lists):
    """Write the rows of the items first, first + 1, ... of a Lists.

    selected: their (indices (B, K) int32, keys (B, K) uint32), ascending; worst: the first key of a pair that is not a
    pair of neighbours.
    """
    n_items = len(lists.neighbors)
    key, half = plan.supplement_key(seed), plan.permutation_half(n_items)
    twins.fill_slots(*selected, first, worst, key, half, n_items, *lists)


def random_lists(n_items, n_neighbors, seed):
    """Return the Lists of a search without results."""
    lists = empty_lists(n_items, n_neighbors)
    shape = lists.neighbors.shape
    fill_slots((np.zeros(shape, np.int32), np.zeros(shape, np.uint32)), 0, 0, seed, lists)
    return lists
