"""GPU kernel of the supplement; twins.py has it for the CPU."""

import numpy as np

from gpukit._cuda import cuda, kernel
from gpukit.neighbors.supplement.formulas import agreement, in_list
from gpukit.random import bits, shuffled

U32 = np.uint32


@kernel(fastmath=False)
def fill_slots(indices, values, first, worst, key, half, n_items, neighbors, scores, random_slots):
    """Lines 10-12 of Algorithm 1: the selected items with a key below worst, their scores, and the random supplement.

    indices (B, K) int32 and values (B, K) uint32: the selection of rows first..first + B; worst int: the first key of a
    pair that is not a pair of neighbours; key uint32 and half int: of random.shuffled; n_items int, N > K; neighbors
    (N, K) int32, scores (N, K) float32 in (0, 1] or NaN and random_slots (N,) int32, rows first..first + B written.
    Launch: grid ceil(B / block), any block.   Deterministic: yes, exact.   Source: Algorithm 1.
    """
    row = cuda.grid(1)
    if row >= indices.shape[0]:
        return
    item, k, found = first + row, indices.shape[1], 0
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
            scores[item, slot] = np.float32(np.nan)
            slot += 1
