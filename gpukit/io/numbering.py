"""Whole numbers that lie close together, as most ids do, are numbered by a table and without a search: on the host by
ids.py, on a GPU by ratings/orders. What both have in common."""

import numpy as np

SPAN = 1 << 20  # numbers from the least to the greatest for which a table pays, however few ids there are
WIDEST = np.iinfo(np.int64)


def are_close(low, high, count):
    """Whether a table pays for so many ids, from low to high."""
    return high - low < max(SPAN, count)


def ranked(present, low):
    """(ranks (span,) int32: the row of each id, from low on; known (rows,) int64: the ids, ascending) of present
    (span,), 0 where no id is."""
    seen = present > 0
    return np.cumsum(seen, dtype=np.int32) - np.int32(1), np.flatnonzero(seen) + low
