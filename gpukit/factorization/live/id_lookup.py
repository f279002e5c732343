"""Lookup of new ratings' ids among those of a live model, with all cores."""

import numpy as np

from gpukit.io.ids import KeyTable, rows_of


class IdLookup:
    """gpukit.io.ids.rows_of for known ids that only grow; whole numbers are kept in a hash table.

    The table is created on first use and extended by the ids added since.
    """

    def __init__(self):
        self._table = None

    def __call__(self, ids, known, what="user"):
        """Return the rows (n,) int32 of ids in the array `known`, -1 for unknown ids; raises as rows_of."""
        if ids.dtype.kind not in "iu" or known.dtype.kind not in "iu":
            return rows_of(ids, known, what)
        if self._table is None:
            self._table = KeyTable(table_capacity(len(known)))
        if self._table.count < len(known):
            self._table.codes(whole(known[self._table.count :]))
        return self._table.find(whole(ids))


def table_capacity(n):
    """Return the slots of a KeyTable of n keys: a power of two, at most half of them used, with space for n more."""
    return 1 << max(12, int(2 * n).bit_length())


def whole(ids):
    """Return ids as int64 for a KeyTable."""
    return np.ascontiguousarray(ids, dtype=np.int64)
