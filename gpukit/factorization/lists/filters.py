"""What a list may show, and what is added to scores, as a number an item."""

import warnings
from typing import NamedTuple

import numpy as np

from gpukit.base import check_integer, check_real
from gpukit.base.checks import said
from gpukit.errors import DataError, ParameterError
from gpukit.factorization.lookup import NAMED, rows_or_unknown

MOST = 1e6  # of a popularity weight


class Filters(NamedTuple):
    """What a list may show; by default everything, as it is ranked.

    only: item ids that lists are made of (None: all); without: item ids that are left out; ids that the model does not
    know are left out with a warning. min_support: ratings that an item must have. popularity: how often the logarithm
    of an item's ratings plus 1 is added to its scores, below 0: taken away. diversity, 0 to 1: how much an item is held
    back for being like those listed before it (lists/diversity.py).
    """

    only: object = None
    without: object = ()
    min_support: int = 0
    popularity: float = 0.0
    diversity: float = 0.0


def checked(filters):
    """Filters with numbers that are in bounds; None: no filters. ParameterError for others."""
    filters = Filters() if filters is None else filters
    if not isinstance(filters, Filters):
        raise ParameterError(f"filters must be a gpukit.factorization.Filters or None; got {said(filters)}.")
    return filters._replace(
        min_support=check_integer("min_support", filters.min_support, 0),
        popularity=check_real("popularity", filters.popularity, -MOST, MOST),
        diversity=check_real("diversity", filters.diversity, 0.0, 1.0),
    )


def worth_of(filters, item_ids, counts, unit=1.0):
    """(N,) float32: what Filters add to the scores of the items item_ids; NaN: the item is left out.

    counts: a function that gives the ratings of each item (N,), called where they are needed; unit: what a score of 1
    is, in the units that the filters speak of. Raises DataError where no item is left.
    """
    worth = np.zeros(len(item_ids), np.float32)
    if filters.only is not None:
        worth[:] = np.nan
        worth[known_rows(filters.only, item_ids)] = 0
    worth[known_rows(filters.without, item_ids)] = np.nan
    if filters.min_support or filters.popularity:
        its = counts()
        worth[its < filters.min_support] = np.nan
        worth += np.float32(filters.popularity / unit) * np.log1p(its).astype(np.float32)
    if np.isnan(worth).all():
        lower = f", or lower min_support={filters.min_support}" if filters.min_support else ""
        raise DataError(
            f"The filters leave none of the model's {len(item_ids):,} items to recommend: name others that the model "
            f"knows{lower}."
        )
    return worth


def known_rows(ids, item_ids):
    """Rows of those ids that are known, with a warning that counts the others."""
    from gpukit.io.ids import id_array

    ids = list(ids) if isinstance(ids, set | frozenset | dict) else ids
    if isinstance(ids, list | tuple) and not ids or isinstance(ids, np.ndarray) and not ids.size:
        return np.empty(0, np.int32)
    rows = rows_or_unknown(ids, item_ids, "item")
    ids, strange = id_array(ids, "item"), rows == len(item_ids)
    if strange.any():
        some = ", ".join(f"{one!r:.80}" for one in ids[strange][:NAMED].tolist())
        warnings.warn(
            f"The model does not know {strange.sum():,} of {len(ids):,} items of the filters (such as {some}): they "
            "are left out.",
            stacklevel=6,
        )
    return rows[~strange]
