"""Filters of lists and additions to scores, one number an item."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpukit.base import check_integer, check_real
from gpukit.base.checks import format_value
from gpukit.errors import DataError, ParameterError
from gpukit.factorization.arrays import NUMBERS
from gpukit.factorization.constants import RULES
from gpukit.factorization.serve import first_names, rows_or_unknown
from gpukit.io.ids import id_array

if TYPE_CHECKING:
    from gpukit.typing import IdsLike


class Filters(NamedTuple):
    """Filters of a list; by default none.

    only: item ids that may be listed (None: all); without: item ids that are excluded (None: none); ids that the model
    does not know are ignored with a warning. min_support: minimum number of ratings of an item. popularity: factor of
    the logarithm of an item's number of ratings plus 1, which is added to its scores; negative values favour rare
    items. diversity, 0 to 1: weight of the similarity to items listed before (`spread_out`).
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


def pool_size(n, diversity, n_items):
    """Return the size of the pool from which n items are taken."""
    return min(n_items, n * (RULES.diversity_pool if diversity else 1))


def directions(factors):
    """Return (N, F) float32 rows of length 1; keep zero rows."""
    lengths = np.linalg.norm(factors, axis=1, keepdims=True)
    return (factors / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def spread_out(items, scores, n, vectors, diversity):
    """Return the positions (B, n) of the lists in each user's pool, -1 where a pool is exhausted.

    items (B, C) int32 rows and scores (B, C) float32, best first, NaN after the last; vectors (N, F) float32 of length
    1; diversity float32. Source: top of this file.
    """
    users, lowest = np.arange(len(items)), np.fmin.reduce(scores, axis=1, keepdims=True)
    spread, relevance = scores[:, :1] - lowest, np.ones_like(scores)
    np.divide(scores - lowest, spread, out=relevance, where=spread > 0)
    pool, free, similarity = vectors[items], ~np.isnan(scores), np.zeros_like(scores)
    places = np.empty((len(items), n), np.int32)
    for turn in range(n):
        values = np.where(free, (1 - diversity) * relevance - diversity * similarity, -np.inf)
        best = values.argmax(axis=1)
        places[:, turn] = np.where(free[users, best], best, -1)
        free[users, best] = False
        similarity = np.maximum(similarity, np.einsum("bcf,bf->bc", pool, pool[users, best]))
    return places


def diversify(items, scores, n, vectors, diversity):
    """Return the lists (items (B, n), scores (B, n)) of pools.

    items, scores: (B, C). Scores are NaN where a pool is exhausted.
    """
    n, step = min(n, items.shape[1]), max(1, NUMBERS // (items.shape[1] * vectors.shape[1]))
    tiles = [slice(first, first + step) for first in range(0, len(items), step)]
    chosen = [spread_out(items[tile], scores[tile], n, vectors, np.float32(diversity)) for tile in tiles]
    places = np.concatenate([np.empty((0, n), np.int32), *chosen])
    lists = [np.take_along_axis(pool, np.maximum(places, 0), axis=1) for pool in (items, scores)]
    lists[1][places < 0] = np.nan
    return lists
