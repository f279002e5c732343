"""Ids that people ask a fitted model about, found among the model's; what becomes of unknown ones."""

import warnings

import numpy as np

from gpukit.base import check_choice
from gpukit.errors import DataError

NAMED = 5  # unknown ids that a message names
PREDICTED = ("warn", "baseline", "error")  # unknown ids of pairs to predict


def rows_or_unknown(ids, known, what="user"):
    """(n,) int32 rows of ids in known; len(known) where an id is unknown. Raises DataError for what are no ids."""
    from gpukit.io.ids import check_fractions, check_types, rows_of

    check_types(ids, what)
    rows = rows_of(ids, known, what)
    if np.asarray(known).dtype.kind in "iu":
        check_fractions(ids, rows, what)
    return np.where(rows < 0, np.int32(len(known)), rows).astype(np.int32)


def refuse_unknown(ids, rows, count, what, advice):
    """Raise DataError that names the first of ids whose row is the count of known ones; advice: what to pass."""
    strange = rows == count
    if strange.any():
        ids = np.atleast_1d(np.asarray(ids))
        names = ", ".join(f"{one!r:.80}" for one in ids[strange][:NAMED].tolist())
        names += ", ..." if strange.sum() > NAMED else ""
        raise DataError(f"The model does not know {strange.sum():,} of {len(ids):,} {what}s ({names}). {advice}")


def known_rows(ids, known, what, unknown, fallback):
    """Return `rows_or_unknown`, or raise DataError for an unknown id unless `unknown` is the name of the fallback."""
    check_choice("unknown", unknown, ("error", fallback))
    rows = rows_or_unknown(ids, known, what)
    if unknown == "error":
        refuse_unknown(ids, rows, len(known), what, f"Pass unknown={fallback!r} to go on with them.")
    return rows


def report_unknown(users, items, shape, unknown, stacklevel):
    """Warn of pairs with unknown ids, or raise DataError; users, items (n,) rows; unknown: one of PREDICTED."""
    no_user, no_item = (int((rows == count).sum()) for rows, count in zip((users, items), shape))
    if unknown == "baseline" or not (no_user or no_item):
        return
    line = f"Of {len(users):,} pairs, {no_user:,} have a user and {no_item:,} an item that the model does not know"
    if unknown == "error":
        raise DataError(f"{line}. Leave them out, or pass unknown='baseline' to predict them from what is known.")
    warnings.warn(
        f"{line}; those are predicted from what is known. unknown='baseline' says nothing of it, 'error' refuses them.",
        stacklevel=stacklevel + 1,
    )
