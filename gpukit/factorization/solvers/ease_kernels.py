"""Regressions of items on their neighbours, a block per item."""

import numpy as np

from gpukit._cuda import cuda, device, kernel
from gpukit.factorization.solvers.ease import BITS

I32, U32, U64, F32 = np.int32, np.uint32, np.uint64, np.float32


@device
def rows_of(starts, neighbors, item, slot, size):
    """Return the range of the clicks of an item's slot; the item itself has the slot `size`."""
    row = U64(item) if slot == size else U64(neighbors[item, slot])
    return starts[row], starts[row + U64(1)]


@device
def mark_slots(starts, users, neighbors, item, size, marks, masks):
    """Set the bits of the slots that each user clicked; without `marks`, clear the masks of these users."""
    warp, warps = U32(cuda.threadIdx.x // 32), U32(cuda.blockDim.x // 32)
    for slot in range(warp, size + U32(1), warps):
        first, last = rows_of(starts, neighbors, item, slot, size)
        for t in range(U64(first) + U64(cuda.laneid), U64(last), U64(32)):
            user, word = U32(users[t]), U32(slot // BITS)
            if marks:
                cuda.atomic.or_(masks, (user, word), U32(U32(1) << U32(slot % BITS)))
            else:
                masks[user, word] = U32(0)


@device
def count_together(starts, users, neighbors, item, size, masks, gram):
    """Add the users of each pair of slots to the upper half of the Gram matrix."""
    warp, warps = U32(cuda.threadIdx.x // 32), U32(cuda.blockDim.x // 32)
    for slot in range(warp, size, warps):
        first, last = rows_of(starts, neighbors, item, slot, size)
        for t in range(U64(first) + U64(cuda.laneid), U64(last), U64(32)):
            for word in range(U32(slot // BITS), U32(size // BITS) + U32(1)):
                left = U32(masks[U32(users[t]), word])
                if word == U32(slot // BITS):
                    left = U32(left & U32(U32(0xFFFFFFFF) << U32(slot % BITS)))
                while left != U32(0):
                    other = U32(word * U32(BITS) + U32(cuda.ffs(I32(left)) - 1))
                    left = U32(left & U32(left - U32(1)))
                    cuda.atomic.add(gram, (slot, other), F32(1))


@device
def eliminate(gram, size):
    """Replace the upper half of (A, g), (size, size + 1), by that of Gauss's elimination without pivots."""
    thread, step = U32(cuda.threadIdx.x), U32(cuda.blockDim.x)
    lane, warp, warps = U32(thread % 32), U32(thread // 32), U32(step // 32)
    for c in range(size):
        cuda.syncthreads()
        for row in range(U32(c + U32(1) + warp), size, warps):
            factor = F32(gram[c, row] / gram[c, c])
            for t in range(U32(row + lane), size + U32(1), U32(32)):
                gram[row, t] -= F32(factor * gram[c, t])


@device
def solve_back(gram, size, out):
    """Solve the eliminated system for out (size,)."""
    for done in range(size):
        c = U32(size - U32(1) - done)
        cuda.syncthreads()
        result = F32(gram[c, size] / gram[c, c])
        if cuda.threadIdx.x == 0:
            out[c] = result
        for row in range(U32(cuda.threadIdx.x), c, U32(cuda.blockDim.x)):
            gram[row, size] -= F32(gram[row, c] * result)


@kernel
def regress_on_neighbors(neighbors, starts, users, n_users, ridge, weights, mask_scratch, gram_scratch):
    """w_j = (G_SS + lambda I)^-1 G_Sj,    G = X'X,  S the neighbours of item j

    neighbors (N, K) int32: S, -1 after the last; starts (N + 1,) int64, users (n,) int32: the clicks by item; n_users:
    M; ridge (float32): lambda; weights (N, K) float32, overwritten: w_j, 0 after the last neighbour; mask_scratch
    (blocks, M, K // 32 + 1) uint32: zero before and after; gram_scratch (blocks, K, K + 1) float32.

    Launch: any grid of one dimension with a block for each row of the scratch memory, blocks of whole warps.
    Deterministic: yes, counts are exact.
    Source: Steck, WWW 2019, Eq. (3), restricted to neighbours as in SLIM (Ning and Karypis, ICDM 2011, section IV.C).
    """
    thread, step = U32(cuda.threadIdx.x), U32(cuda.blockDim.x)
    masks, gram, slots = mask_scratch[cuda.blockIdx.x], gram_scratch[cuda.blockIdx.x], U32(neighbors.shape[1])
    for item in range(U32(cuda.blockIdx.x), U32(neighbors.shape[0]), U32(cuda.gridDim.x)):
        size = U32(0)
        while size < slots and neighbors[item, size] >= 0:
            size += U32(1)
        cuda.syncthreads()
        for place in range(thread, size * (size + U32(1)), step):
            row, column = U32(place // (size + U32(1))), U32(place % (size + U32(1)))
            gram[row, column] = F32(ridge) if row == column else F32(0)
        for slot in range(U32(size + thread), slots, step):
            weights[item, slot] = F32(0)
        mark_slots(starts, users, neighbors, item, size, True, masks)
        cuda.syncthreads()
        count_together(starts, users, neighbors, item, size, masks, gram)
        cuda.syncthreads()
        mark_slots(starts, users, neighbors, item, size, False, masks)
        eliminate(gram, size)
        solve_back(gram, size, weights[item])
