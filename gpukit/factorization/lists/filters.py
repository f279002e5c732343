"""Filters of lists and additions to scores, one number an item."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpukit.base import check_integer, check_real
from gpukit.base.checks import format_value
from gpukit.errors import DataError, ParameterError
from gpukit.factorization.lookup import first_names, rows_or_unknown
from gpukit.io.ids import id_array

if TYPE_CHECKING:
    from gpukit.typing import IdsLike


class Filters(NamedTuple):
    """Filters of a list; by default none.

    only: item ids that may be listed (None: all); without: item ids that are excluded (None: none); ids that the model
    does not know are ignored with a warning. min_support: minimum number of ratings of an item. popularity: factor of
    the logarithm of an item's number of ratings plus 1, which is added to its scores; negative values favour rare
    items. diversity, 0 to 1: weight of the similarity to items listed before (lists/diversity.py).
    """

    only: IdsLike | None = None
    without: IdsLike | None = ()
    min_support: int = 0
    popularity: float = 0.0
    diversity: float = 0.0


def check_filters(filters):
    """Return valid Filters; raise ParameterError for numbers out of bounds."""
    most = 1e6  # maximum of a popularity weight
    if not isinstance(filters, Filters):
        raise ParameterError(f"filters must be a gpukit.factorization.Filters or None; got {format_value(filters)}.")
    return filters._replace(
        without=() if filters.without is None else filters.without,
        min_support=check_integer("min_support", filters.min_support, 0),
        popularity=check_real("popularity", filters.popularity, -most, most),
        diversity=check_real("diversity", filters.diversity, 0.0, 1.0),
    )


def worth_of(filters, item_ids, counts, unit=1.0):
    """Return (N,) float32 that Filters add to the items' scores.

    NaN excludes the item. counts: a function that returns the ratings of each item (N,), called if necessary; unit: a
    score of 1 in the units of the filters. Raises DataError if no item is left.
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
    """Return the rows of known ids; warn of the number of others."""
    ids = list(ids) if isinstance(ids, set | frozenset | dict) else ids
    if isinstance(ids, list | tuple) and not ids or isinstance(ids, np.ndarray) and not ids.size:
        return np.empty(0, np.int32)
    rows = rows_or_unknown(ids, item_ids, "item")
    ids, strange = id_array(ids, "item"), rows == len(item_ids)
    if strange.any():
        warnings.warn(
            f"The model does not know {strange.sum():,} of {len(ids):,} items of the filters (such as "
            f"{first_names(ids[strange])}): they are left out.",
            stacklevel=6,
        )
    return rows[~strange]
