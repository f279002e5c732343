"""Recommendations for users that a model knows; a mixin of the estimators."""

from typing import NamedTuple

import numpy as np

from gpukit.base import check_integer
from gpukit.factorization.lists import filters as filtering
from gpukit.factorization.serve import MOST_ANSWERS, Serving, rows_or_unknown


class Request(NamedTuple):
    """What lists are asked for: n items; those in the pool that they are taken from; worth (N,) float32 of the items,
    NaN for those left out; diversity, 0 to 1; whether items are left out that the user has rated."""

    n: int
    pool: int
    worth: np.ndarray
    diversity: float
    hide: bool


class Recommending(Serving):
    """A fitted State that lists what users would like. A subclass has `rating_counts`."""

    def recommend(self, users=None, n=10, exclude_seen=True, *, filters=None):
        """(item ids (B, n), scores (B, n) float32) for user ids (None: all): the items with the best predictions, best
        first.

        Items that the user has rated are left out unless exclude_seen is False. filters: a
        gpukit.factorization.Filters, what lists may show. Scores are predicted ratings, not clipped, with what the
        filters add. Where fewer than n items are left the id is None and the score NaN. Raises ParameterError,
        DataError.
        """
        tiles = list(self.recommend_batches(users, n, exclude_seen, filters=filters))
        if not tiles:
            return np.empty((0, n), self.item_ids_.dtype), np.empty((0, n), np.float32)
        return np.concatenate([ids for _, ids, _ in tiles]), np.concatenate([scores for _, _, scores in tiles])

    def recommend_batches(self, users=None, n=10, exclude_seen=True, *, filters=None):
        """Generator of (user ids (b,), item ids (b, n), scores (b, n)) tiles: a million users never need all scores at
        once."""
        from gpukit.io.ids import id_array

        with self._reported("Recommending"):
            session = self._session()
        request = self._request(n, exclude_seen, filters)
        ids = self.user_ids_ if users is None else id_array(users)
        rows = rows_or_unknown(ids, self.user_ids_) if users is not None else np.arange(len(ids), dtype=np.int32)
        step = session.tile_users()
        for first in range(0, len(ids), step):
            with self._reported("Recommending"):
                pools = session.best(rows[first : first + step], request.pool, request.worth, request.hide)
            yield (ids[first : first + step], *self._named(*self._listed(*pools, request), n))

    def _request(self, n, hide, filters):
        """The Request of checked arguments."""
        from gpukit.factorization.lists.diversity import pool_size

        check_integer("n", n, 1, MOST_ANSWERS)
        filters, n_items = filtering.checked(filters), len(self.item_ids_)
        worth = filtering.worth_of(filters, self.item_ids_, lambda: self.rating_counts()[1], self._scale.deviation)
        pool = pool_size(n, filters.diversity, n_items)
        return Request(min(n, n_items), pool, worth, filters.diversity, hide)

    def _listed(self, items, z, request):
        """The lists (rows and scores) that pools of a Request make."""
        if not request.diversity:
            return items, z
        from gpukit.factorization.lists.diversity import directions, diversified

        return diversified(items, z, request.n, directions(self._state.item_factors), request.diversity)

    def _named(self, items, z, n):
        """Item ids and scores of rows and z, padded to n columns."""
        scores = np.full((len(items), n), np.nan, np.float32)
        scores[:, : items.shape[1]] = z * np.float32(self._scale.deviation) + np.float32(self._scale.mean)
        if not np.isnan(scores).any():
            return self.item_ids_[items], scores
        ids = np.full(scores.shape, None, object)
        ids[:, : items.shape[1]] = self.item_ids_[items]
        ids[np.isnan(scores)] = None
        return ids, scores
