"""Number dense integer ids by a lookup table.

Shared by ids.py (host) and ratings/orders (GPU).
"""

import numpy as np

SPAN = 1 << 20  # range of ids for which a table is worthwhile even for few ids


def are_close(low, high, count):
    """Return True if a table pays for ids in a range.

    low, high: the least and greatest id; count: number of ids.
    """
    return high - low < max(SPAN, count)


def ranked(present, low):
    """Return (ranks (span,) int32, known (rows,) int64 ascending ids).

    present: (span,), 0 where no id is; position k is the id low + k. ranks: row of each id.
    """
    seen = present > 0
    return np.cumsum(seen, dtype=np.int32) - np.int32(1), np.flatnonzero(seen) + low
