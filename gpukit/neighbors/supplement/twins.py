"""CPU twin of kernels.py: the same name, the same arguments in the same order, the same integers."""

import numpy as np

from gpukit.neighbors.supplement.formulas import agreement, in_list
from gpukit.random import bits, shuffled
from gpukit.scheduler import by_block

U32 = np.uint32


@by_block(lambda indices: indices.shape[0])
def fill_slots(start, stop, indices, values, first, worst, key, half, n_items, neighbors, scores, random_slots):
    """Twin of kernels.fill_slots."""
    k = indices.shape[1]
    for row in range(start, stop):
        item = first + row
        found = 0
        while found < k and values[row, found] < worst:
            neighbors[item, found] = indices[row, found]
            scores[item, found] = agreement(values[row, found], U32(worst))
            found += 1
        random_slots[item] = k - found
        own_key, slot, index = bits(key, item), found, 0
        while slot < k:
            candidate = np.int32(shuffled(own_key, index, half, n_items))
            index += 1
            if candidate != item and not in_list(candidate, neighbors, item, found):
                neighbors[item, slot] = candidate
                scores[item, slot] = np.nan
                slot += 1
