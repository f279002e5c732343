"""Recommendations for known users, a mixin of the estimators; their filters, one number an item."""

from __future__ import annotations

import functools
import os
import threading
import warnings
from typing import TYPE_CHECKING, Literal, NamedTuple, Self, get_args

import numpy as np

from gpukit import device as devices
from gpukit.base import check_boolean, check_choice, check_integer, check_real
from gpukit.base.checks import format_value
from gpukit.errors import DataError, DeviceMemoryError, ParameterError
from gpukit.factorization.arrays import NUMBERS, UNSCALED, Scale
from gpukit.factorization.constants import RULES
from gpukit.factorization.model.layout import pair_keys
from gpukit.factorization.serve import (
    MOST_ANSWERS,
    Serving,
    first_names,
    in_rows_of,
    refuse_unknown,
    rows_or_unknown,
)
from gpukit.io.ids import id_array

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpukit.factorization.serve import Predicted
    from gpukit.typing import Float32, Ids, IdsLike, Int32, RatingsLike

RankedBy = Literal["lists", "rating"]  # rankings of recommendations
ExcludeSeen = bool | Literal["clicks"]  # what lists leave out
UnknownUsers = Literal["error", "popular", "skip"]
BY, UNKNOWN = get_args(RankedBy), get_args(UnknownUsers)
NO_PAIRS = np.empty((0, 2), np.int32)
_learning = threading.Lock()  # of heads: the first threads that use a model share one
os.register_at_fork(after_in_child=lambda: globals().update(_learning=threading.Lock()))


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


class Ranking(NamedTuple):
    """Ranking of lists.

    session: a function that returns the session; state: its state.State; scale: Scale of its scores; head:
    lists.head.Head, None: by predicted ratings, or by the predictions of a model of clicks.
    """

    session: object
    state: object
    scale: Scale
    head: object


class Request(NamedTuple):
    """Validated arguments of recommend.

    ranking: Ranking; n: items; pool: number of best items from which they are taken; worth (N,) float32 of the items,
    NaN excludes one; diversity, 0 to 1; hide: as exclude_seen of recommend.
    """

    ranking: Ranking
    n: int
    pool: int
    worth: np.ndarray
    diversity: float
    hide: bool


def select_users(model, users, unknown):
    """Return (ids (b,), rows (b,) int32) of requested users; the row of an unknown one is the number of users.

    Raises DataError for ids that are neither text nor whole numbers and, if unknown is 'error', for unknown ids.
    """
    rows, count = model._rows_of(users, "user"), len(model.user_ids_)
    ids = id_array(users)
    if unknown == "error":
        refuse_unknown(ids, rows, count, "user", "Pass unknown='popular' for popular items, or unknown='skip'.")
    strange = rows == count
    return (ids[~strange], rows[~strange]) if unknown == "skip" else (ids, rows)


class Recommending(Serving):
    """A fitted State that recommends items; a subclass has `rating_counts`."""

    def recommend(
        self,
        users: IdsLike | None = None,
        n: int = 10,
        exclude_seen: ExcludeSeen = True,
        *,
        by: RankedBy = "lists",
        filters: Filters | None = None,
        unknown: UnknownUsers = "error",
    ) -> tuple[Ids, Float32]:
        """Return the best items of users, best first.

        Parameters
        ----------
        users : (B,) int or str, or None
            User ids; None: all users.
        n : int
            Items per user, default 10.
        exclude_seen : bool or 'clicks'
            Exclude items that the user has rated, or that mark_seen marked. 'clicks': keep ratings below positive_from,
            as evaluations of lists do.
        by : {'lists', 'rating'}
            'lists': by factors for the occurrence and value of ratings (lists/head.py), which a model of ratings learns
            at the first call, or in fit_lists, and keeps; scores are about 1 for a sure choice, 0 for none. 'rating':
            by predicted ratings, not clipped. A model of clicks has a single ranking.
        filters : gpukit.factorization.Filters or None
            Scores include their additions.
        unknown : {'error', 'popular', 'skip'}
            Unknown users: DataError, popular items, or no row in the result.

        Returns
        -------
        items : (B, n) int64 or str
            Ids; None if fewer than n items are left (their score is NaN).
        scores : (B, n) float32

        Raises
        ------
        ParameterError
            n, by or filters is invalid.
        DataError
            A user is unknown, or an id has a wrong type.

        Examples
        --------
        >>> from gpukit import MatrixFactorization, synth_ratings
        >>> model = MatrixFactorization(n_factors=4, n_epochs=3).fit(synth_ratings("ml-10m", scale=0.001))
        >>> items, scores = model.recommend([1, 2], n=5)
        >>> items.shape, scores.dtype
        ((2, 5), dtype('float32'))
        """
        tiles = list(self.recommend_batches(users, n, exclude_seen, by=by, filters=filters, unknown=unknown))
        if not tiles:
            return np.empty((0, n), self.item_ids_.dtype), np.empty((0, n), np.float32)
        return np.concatenate([ids for _, ids, _ in tiles]), np.concatenate([scores for _, _, scores in tiles])

    def recommend_batches(
        self,
        users: IdsLike | None = None,
        n: int = 10,
        exclude_seen: ExcludeSeen = True,
        *,
        by: RankedBy = "lists",
        filters: Filters | None = None,
        unknown: UnknownUsers = "error",
    ) -> Iterator[tuple[Ids, Ids, Float32]]:
        """Generate the results of recommend in tiles, so that scores of a million users are never all in memory.

        Parameters
        ----------
        users, n, exclude_seen, by, filters, unknown
            As in recommend.

        Yields
        ------
        users : (b,) int64 or str
        items : (b, n) int64 or str
        scores : (b, n) float32

        Raises
        ------
        ParameterError, DataError
            As in recommend.

        Examples
        --------
        >>> from gpukit import MatrixFactorization, synth_ratings
        >>> model = MatrixFactorization(n_factors=4, n_epochs=3).fit(synth_ratings("ml-10m", scale=0.001))
        >>> sum(len(users) for users, items, scores in model.recommend_batches(n=5)) == len(model.user_ids_)
        True
        """
        check_choice("unknown", unknown, UNKNOWN)
        request = self._request(n, exclude_seen, by, filters)
        with self._reported("Recommending"):
            session = request.ranking.session()
        if users is None:
            ids, rows = self.user_ids_, np.arange(len(self.user_ids_), dtype=np.int32)
        else:
            ids, rows = select_users(self, users, unknown)
        step = session.tile_users()
        for first in range(0, len(ids), step):
            with self._reported("Recommending"):
                pools = self._pools(session, rows[first : first + step], request)
            yield (ids[first : first + step], *self._named(*self._listed(*pools, request), request, n))

    def mark_seen(self, X: RatingsLike) -> Self:
        """Exclude pairs from recommendations without learning from them.

        Use it for ratings that were held out to evaluate the model: users have seen these items. Predictions, scores
        and counts do not change.

        Parameters
        ----------
        X : pairs as in predict
            Pairs of unknown users or items are ignored.

        Returns
        -------
        self

        Raises
        ------
        DataError
            X has no pairs.

        Examples
        --------
        >>> from gpukit import MatrixFactorization, synth_ratings
        >>> model = MatrixFactorization(n_factors=4, n_epochs=3).fit(synth_ratings("ml-10m", scale=0.001))
        >>> items, _ = model.recommend([1], n=1)
        >>> again, _ = model.mark_seen(([1], items[0])).recommend([1], n=1)
        >>> bool(again[0, 0] == items[0, 0])
        False
        """
        self._check_fitted()
        users, items = self._pairs(X)
        self._add_pairs("_seen", users, items)
        return self

    def seen_pairs(self) -> Int32:
        """Return (n, 2) int32 rows of the pairs that mark_seen marked, sorted."""
        return getattr(self, "_seen", NO_PAIRS)

    def _mark_low(self, ratings):
        """Exclude Ratings below positive_from from recommendations."""
        pairs = in_rows_of(ratings, self.user_ids_, self.item_ids_)
        self._add_pairs("_low", pairs.users, pairs.items)

    def _add_pairs(self, name, users, items):
        """Add pairs of rows to the sorted ones of an attribute; ignore unknown rows, behind the last."""
        known = (users < len(self.user_ids_)) & (items < len(self.item_ids_))
        keys = np.concatenate((pair_keys(*getattr(self, name, NO_PAIRS).T), pair_keys(users[known], items[known])))
        setattr(self, name, np.column_stack(np.divmod(np.unique(keys), 1 << 32)).astype(np.int32))
        prepared = dict(getattr(self, "_prepared", {}))  # a thread that has read the pairs before keeps the other dict
        for hide in (True, "clicks"):
            prepared.pop(("seen", hide), None)
        self._prepared = prepared

    def _seen_keys(self, hide):
        """Return the sorted keys of marked pairs that lists exclude; hide: as exclude_seen."""
        low = NO_PAIRS if hide == "clicks" else getattr(self, "_low", NO_PAIRS)
        return np.sort(pair_keys(*np.concatenate((self.seen_pairs(), low)).T))

    def _pools(self, session, rows, request):
        """Return (item rows, scores) of the best items of user rows; NaN where too few are left."""
        limits = request.worth, bool(request.hide)
        seen = self._prepare(("seen", request.hide), lambda: self._seen_keys(request.hide))
        starts, ends = (np.searchsorted(seen, pair_keys(rows + more, 0)) for more in (0, 1))
        most = int((ends - starts).max(initial=0)) if request.hide else 0
        if not most:
            return session.best(rows, request.pool, *limits)
        items, z = session.best(rows, min(request.pool + most, len(self.item_ids_)), *limits)
        hidden = np.isin(pair_keys(rows[:, None], items), seen)
        order = np.argsort(hidden, axis=1, kind="stable")[:, : request.pool]
        return tuple(np.take_along_axis(part, order, 1) for part in (items, np.where(hidden, np.float32(np.nan), z)))

    def pair_scores(
        self,
        X: RatingsLike | IdsLike,
        items: IdsLike | None = None,
        *,
        by: RankedBy = "lists",
        unknown: Predicted = "warn",
    ) -> Float32:
        """Return the scores of pairs by which `recommend` ranks.

        Parameters
        ----------
        X, items
            As in predict.
        by : {'lists', 'rating'}
            As in recommend.
        unknown : {'warn', 'baseline', 'error'}
            As in predict.

        Returns
        -------
        (n,) float32

        Examples
        --------
        >>> from gpukit import MatrixFactorization, synth_ratings
        >>> model = MatrixFactorization(n_factors=4, n_epochs=3).fit(synth_ratings("ml-10m", scale=0.001))
        >>> model.pair_scores([1, 2], [5, 6]).shape
        (2,)
        """
        ranking = self._ranking(by)
        z = self._z_of(X, items, ranking.session, unknown)
        return z * np.float32(ranking.scale.deviation) + np.float32(ranking.scale.mean)

    def fit_lists(self) -> Self:
        """Learn the ranking of lists now instead of at the first recommendation.

        A model of clicks has it already.

        Returns
        -------
        self

        Raises
        ------
        DeviceError, DeviceMemoryError

        Examples
        --------
        >>> from gpukit import MatrixFactorization, synth_ratings
        >>> model = MatrixFactorization(n_factors=4, n_epochs=3).fit(synth_ratings("ml-10m", scale=0.001))
        >>> model.fit_lists() is model
        True
        """
        self._check_fitted()
        if self.feedback_ == "explicit":
            self._learned_head()
        return self

    @property
    def has_lists(self) -> bool:
        """True if the model has its ranking of lists."""
        return self.feedback_ != "explicit" or hasattr(self, "_head")

    def _learned_head(self):
        """Return the lists.head.Head, learned at the first call."""
        if not self.has_lists:
            with _learning:
                if not self.has_lists:  # another thread may have learned them meanwhile
                    self._head = self._learn_head(devices.resolve(self.device))
        return self._head

    def _learn_head(self, device):
        """Return a new lists.head.Head; the CPU learns it if a GPU's memory is too small."""
        from gpukit.factorization.lists import learning

        shape = len(self.user_ids_), len(self.item_ids_)
        try:
            with devices.translate_memory_errors(device, "Learning lists"):
                return learning.learn_head(self._history_on(device), shape, device)
        except DeviceMemoryError:
            if not device.is_cuda:
                raise
        warnings.warn(f"The memory of {device} is too small for learning lists: the CPU learns them.", stacklevel=2)
        return learning.learn_head(self._rated, shape, devices.resolve("cpu"))

    def _ranking(self, by):
        """Return the Ranking of a name in BY."""
        self._check_fitted()
        if check_choice("by", by, BY) == "rating" or self.feedback_ != "explicit":
            return Ranking(self._session, self._state, self._scale, None)
        from gpukit.factorization.lists.head import state_of

        result = self._learned_head()
        state = self._prepare("lists", lambda: state_of(result))
        make = functools.partial(self._make_session, state=state, walk="users")
        return Ranking(lambda: self._kept_session("lists", make), state, UNSCALED, result)

    def _request(self, n, hide, by, filters):
        """Return the Request of validated arguments."""
        self._check_fitted()
        check_integer("n", n, 1, MOST_ANSWERS)
        if isinstance(hide, str):
            check_choice("exclude_seen", hide, (True, False, "clicks"))
        else:
            hide = check_boolean("exclude_seen", hide)
        n_items, ranking = len(self.item_ids_), self._ranking(by)
        if filters is None:
            filters, worth = Filters(), self._prepare("worth", lambda: np.zeros(n_items, np.float32))
        else:
            filters, counts = check_filters(filters), lambda: self.rating_counts()[1]
            worth = worth_of(filters, self.item_ids_, counts, ranking.scale.deviation)
        pool = pool_size(n, filters.diversity, n_items)
        return Request(ranking, min(n, n_items), pool, worth, filters.diversity, hide)

    def _listed(self, items, z, request):
        """Return the lists (rows and scores) of pools, diversified if requested."""
        if not request.diversity:
            return items, z
        ranking = request.ranking
        name = "directions" if ranking.head is None else "directions of lists"
        vectors = self._prepare(name, lambda: directions(ranking.state.item_factors))
        return diversify(items, z, request.n, vectors, request.diversity)

    def _named(self, items, z, request, n):
        """Return item ids and scores, padded to n columns.

        items: rows; z: scores in the units of training.
        """
        scale = request.ranking.scale
        scores = np.full((len(items), n), np.nan, np.float32)
        scores[:, : items.shape[1]] = z * np.float32(scale.deviation) + np.float32(scale.mean)
        if not np.isnan(scores).any():
            return self.item_ids_[items], scores
        ids = np.full(scores.shape, None, object)
        ids[:, : items.shape[1]] = self.item_ids_[items]
        ids[np.isnan(scores)] = None
        return ids, scores


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
        worth[rows_of_filter(filters.only, item_ids)] = 0
    worth[rows_of_filter(filters.without, item_ids)] = np.nan
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


def rows_of_filter(ids, item_ids):
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
    1; diversity float32. Source: the card of this folder.
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
