"""Ids as people write them <-> rows 0..M-1. Id arrays are sorted, int64 where every id is an integer, else str."""

import numpy as np

from gpukit.errors import DataError


def factorize(ids, what="user"):
    """(rows (n,) int32, sorted ids (M,)) of an array of ids; what names them in the DataError for missing ones."""
    ids = np.asarray(ids)
    if ids.dtype.kind in "biu":
        ids = ids.astype(np.int64)
    elif ids.dtype.kind == "f" and np.isfinite(ids).all() and (ids == np.floor(ids)).all():
        ids = ids.astype(np.int64)
    else:
        missing = np.array([value is None or value != value for value in ids.tolist()], dtype=bool)
        if missing.any():
            raise DataError(f"Row {int(np.flatnonzero(missing)[0]) + 1} has no {what} id. Remove such rows first.")
        ids = ids.astype(str)
    known, rows = np.unique(ids, return_inverse=True)
    return rows.reshape(-1).astype(np.int32), known


def rows_of(ids, known):
    """Rows (n,) int32 of ids in the sorted array known, -1 where an id is not in it.

    Integers match ids read as text and the other way round: 7 finds '7'.
    """
    ids, known = np.atleast_1d(np.asarray(ids)), np.asarray(known)
    if not len(known):
        return np.full(len(ids), -1, dtype=np.int32)
    ids = _as_kind(ids, known)
    rows = np.searchsorted(known, ids)
    rows[rows == len(known)] = 0
    return np.where(known[rows] == ids, rows, -1).astype(np.int32)


def _as_kind(ids, known):
    if known.dtype.kind not in "biu":
        return ids.astype(str)
    if ids.dtype.kind in "biuf":
        return ids
    return np.array([_integer(text) for text in ids.tolist()], dtype=np.float64 if not len(ids) else object)


def _integer(text):
    """The integer that text spells, or an impossible id (below int64's range) when it spells none."""
    try:
        return int(text)
    except (TypeError, ValueError):
        return -(2**70)
