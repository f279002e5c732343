"""Sums of a user's rows of weights, added to scores."""

import numpy as np

from gpukit._cuda import cuda, kernel
from gpukit.selection.formulas import descending_key, score_of_key

F32, U32, U64 = np.float32, np.uint32, np.uint64


@kernel
def add_weights(users, history, weights, keys):
    """Add to each score the sum of weights of the user's items.

    score_uj += sum over the items i of user u of B_ij

    users (B,) int32; history: arrays.History; weights (N, N) float32: B, contiguous; keys (B, N) uint32: scores as sort
    keys (selection.formulas.descending_key), updated; an excluded item stays excluded.

    Launch: grid (any, any), any block of one dimension; the second dimension of the grid covers users.
    Deterministic: yes, exact.
    Source: Steck, WWW 2019, Eq. (1).
    """
    thread, step = U32(cuda.grid(2)[0]), U32(cuda.gridsize(2)[0])
    for line in range(U32(cuda.blockIdx.y), U32(users.size), U32(cuda.gridDim.y)):
        user = U32(users[line])
        first, last = U64(history.indptr[user]), U64(history.indptr[user + U32(1)])
        for item in range(thread, U32(keys.shape[1]), step):
            total = F32(0)
            for t in range(first, last):
                total += weights[U32(history.items[t]), item]
            keys[line, item] = descending_key(F32(score_of_key(keys[line, item]) + total))
