"""CPU twin of kernels.py."""

import numpy as np

from gpukit.scheduler import by_block
from gpukit.selection.formulas import descending_key, score_of_key


@by_block(lambda users: users.size, heavy=True)
def add_weights(start, stop, users, history, weights, keys):
    """Twin of kernels.add_weights."""
    sums = np.empty(keys.shape[1], np.float32)
    for line in range(start, stop):
        user, row = users[line], keys[line]
        sums[:] = 0
        for t in range(history.indptr[user], history.indptr[user + 1]):
            own = weights[history.items[t]]
            for item in range(sums.size):
                sums[item] += own[item]
        for item in range(sums.size):
            row[item] = descending_key(score_of_key(row[item]) + sums[item])
