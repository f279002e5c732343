"""What the host decides before the search by buckets."""

import numpy as np


def table_offsets(q, n_items):
    """offsets (q + 1,) int64 of q tables of all items, one behind the other."""
    return np.arange(q + 1, dtype=np.int64) * n_items
