"""Host preparation of the search by buckets."""

import numpy as np


def table_offsets(q, n_items):
    """Return offsets (q + 1,) int64 of q tables of all items, one after the other."""
    return np.arange(q + 1, dtype=np.int64) * n_items
