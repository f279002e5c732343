"""CPU twin of kernels.py."""

import numpy as np

from gpukit._jit import njit
from gpukit.factorization.solvers.ease import BITS
from gpukit.runtime.thread_count import get_num_threads
from gpukit.scheduler import by_block

U32, F32 = np.uint32, np.float32


@njit
def mark_slots(starts, users, items, size, masks, marks):
    """Set the bits of the slots, the numbers of items[: size + 1], that each user clicked; without `marks`, clear."""
    for slot in range(size + 1):
        word, bit = slot // BITS, U32(U32(1) << U32(slot % BITS))
        for t in range(starts[items[slot]], starts[items[slot] + 1]):
            masks[users[t], word] = masks[users[t], word] | bit if marks else U32(0)


@njit
def count_together(starts, users, items, size, masks, gram):
    """Count the users of each pair of slots, from the diagonal on; other numbers of `gram` have no meaning."""
    for slot in range(size):
        row, low = gram[slot], slot // BITS
        row[low * BITS :] = F32(0)
        for t in range(starts[items[slot]], starts[items[slot] + 1]):
            user_mask = masks[users[t]]
            for word in range(low, user_mask.size):
                bits, part = user_mask[word], row[word * BITS : (word + 1) * BITS]
                for bit in range(BITS):
                    part[bit] += F32((bits >> U32(bit)) & U32(1))


@njit
def solve_gram(gram, size, out):
    """Solve for out (size,): the first columns of `gram` are a matrix (its upper half), the next one its target."""
    for c in range(size):
        pivot_row = gram[c]
        for row in range(c + 1, size):
            factor, line = F32(pivot_row[row] / pivot_row[c]), gram[row]
            for t in range(row, size + 1):
                line[t] -= F32(factor * pivot_row[t])
    for done in range(size):
        c = size - 1 - done
        out[c] = gram[c, size] / gram[c, c]
        for row in range(c):
            gram[row, size] -= F32(gram[row, c] * out[c])


@by_block(lambda masks: len(masks), heavy=True)
def regress_items(start, stop, neighbors, starts, users, ridge, weights, masks):
    """regress_on_neighbors of every workers-th item; masks (workers, M, K // 32 + 1) uint32: zero."""
    n_items, slots = neighbors.shape
    for worker in range(start, stop):
        worker_masks, items = masks[worker], np.empty(slots + 1, np.int32)
        gram = np.empty((slots, BITS * worker_masks.shape[1]), np.float32)
        for item in range(worker, n_items, len(masks)):
            size = 0
            while size < slots and neighbors[item, size] >= 0:
                items[size] = neighbors[item, size]
                size += 1
            items[size] = item
            mark_slots(starts, users, items, size, worker_masks, True)
            count_together(starts, users, items, size, worker_masks, gram)
            mark_slots(starts, users, items, size, worker_masks, False)
            for slot in range(size):
                gram[slot, slot] += ridge
            solve_gram(gram, size, weights[item])
            for slot in range(size, slots):
                weights[item, slot] = F32(0)


def regress_on_neighbors(neighbors, starts, users, n_users, ridge, weights):
    """Twin of kernels.regress_on_neighbors."""
    workers = min(get_num_threads(), len(neighbors))
    masks = np.zeros((workers, n_users, neighbors.shape[1] // BITS + 1), np.uint32)
    regress_items(neighbors, starts, users, ridge, weights, masks)
