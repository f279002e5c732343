"""Rows of ids in a fitted model; treatment of unknown ids."""

import warnings
from typing import Literal, get_args

import numpy as np

from gpukit.base import check_choice
from gpukit.errors import DataError
from gpukit.io.ids import check_fractions, check_types, rows_of

Predicted = Literal["warn", "baseline", "error"]  # values of `unknown` for pairs to predict
PREDICTED = get_args(Predicted)


def rows_or_unknown(ids, known, what="user", order=None):
    """Return the rows (n,) int32 of ids in `known`.

    order: as in io.ids.rows_of. The row of an unknown id is len(known). Raises DataError for values that are not ids.
    """
    check_types(ids, what)
    rows = rows_of(ids, known, what, order)
    if np.asarray(known).dtype.kind in "iu":
        check_fractions(ids, rows, what)
    return np.where(rows < 0, np.int32(len(known)), rows).astype(np.int32)


def refuse_unknown(ids, rows, count, what, advice):
    """Raise DataError that names the first unknown ids, if any.

    rows: of ids, `count` for an unknown one; advice: what the user can pass instead.
    """
    strange = rows == count
    if strange.any():
        ids = np.atleast_1d(np.asarray(ids))
        names = first_names(ids[strange], ", ...")
        raise DataError(f"The model does not know {strange.sum():,} of {len(ids):,} {what}s ({names}). {advice}")


def first_names(ids, rest=""):
    """Return the first few ids for a message; rest: is appended if there are more."""
    most = 5
    return ", ".join(f"{value!r:.80}" for value in ids[:most].tolist()) + rest * (len(ids) > most)


def known_rows(model, ids, what, unknown, fallback):
    """Return the rows of ids in a model; raise DataError for an unknown id if unknown is 'error'.

    what: 'user' or 'item'; fallback: the other value of `unknown`.
    """
    check_choice("unknown", unknown, ("error", fallback))
    rows = model._rows_of(ids, what)
    if unknown == "error":
        count = len(getattr(model, f"{what}_ids_"))
        refuse_unknown(ids, rows, count, what, f"Pass unknown={fallback!r} to go on with them.")
    return rows


def report_unknown(users, items, shape, unknown, stacklevel):
    """Warn of pairs with unknown ids, or raise DataError.

    users, items (n,): rows; unknown: a value of PREDICTED.
    """
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
