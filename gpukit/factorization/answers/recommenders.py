"""Sources of the lists to evaluate: a fitted model for known or new users."""

from functools import cached_property

import numpy as np

from gpukit.device import resolve
from gpukit.evaluation.lists.baselines import Popularity
from gpukit.evaluation.lists.clicks import clicks_in_rows, clicks_of
from gpukit.evaluation.splits import mask_before_last
from gpukit.factorization.lookup import rows_or_unknown
from gpukit.factorization.serve import pairs_in_rows
from gpukit.factorization.solvers.ease.baseline import Ease
from gpukit.neighbors.item_knn import ItemKNN


class Lister:
    """A fitted model and its users; by: ranking, as in `recommend`."""

    def __init__(self, model, by="lists"):
        self.model, self.by, self.user_ids, self.item_ids = model, by, model.user_ids_, model.item_ids_

    @cached_property
    def learned(self):
        """Clicks that the model has learned from."""
        history, users = self.model._rated, len(self.model.user_ids_)
        return clicks_in_rows(history.indptr[: users + 1], history.items)

    @cached_property
    def known(self):
        """Clicks of the users, which lists exclude."""
        seen = self.model.seen_pairs()
        if not len(seen):
            return self.learned
        history = self.model._rated
        users = np.repeat(np.arange(len(self.user_ids)), np.diff(history.indptr[: len(self.user_ids) + 1]))
        return clicks_of(*np.concatenate((np.column_stack((users, history.items)), seen)).T, self.shape)

    @cached_property
    def counts(self):
        """Number of clicks on each item in training, (N,)."""
        return self.learned.of_items(len(self.item_ids))

    @property
    def shape(self):
        """(users, items)."""
        return len(self.user_ids), len(self.item_ids)

    def rows(self, X):
        """Return (user rows, item rows) (n,) int32 of pairs.

        X: as in predict. Unknown ids have the row behind the last.
        """
        return self.model._pairs(X)

    def lists(self, users, n):
        """Yield (user rows (b,), item rows (b, n)) for user ids.

        The item row is -1 where no item is left.
        """
        for tile, items, scores in self.tiles(users, n):
            is_present = ~np.isnan(scores)
            rows = np.full(items.shape, -1, np.int32)
            rows[is_present] = rows_or_unknown(items[is_present].astype(self.item_ids.dtype), self.item_ids, "item")
            yield rows_or_unknown(tile, self.user_ids), rows

    def tiles(self, users, n):
        """Yield (user ids, item ids, scores) as recommend_batches does."""
        return self.model.recommend_batches(users, n, "clicks", by=self.by, unknown="popular")

    def baselines(self):
        """Return (Popularity, ItemKNN, Ease) trained on the clicks of the model; without Ease for too many items."""
        n_items = len(self.item_ids)
        near = ItemKNN(self.learned, n_items, self.known, device=resolve(self.model.device))
        plain = Popularity(self.learned, n_items, self.known), near
        return (*plain, Ease(self.learned, n_items, self.known)) if Ease.is_affordable(self.learned, n_items) else plain


class Newcomers(Lister):
    """A fitted model and users, known or not, with given Ratings.

    Lists are made from these Ratings.
    """

    def __init__(self, model, given, by="lists"):
        super().__init__(model, by)
        self.given, self.user_ids = given, given.user_ids

    @cached_property
    def known(self):
        """Given Clicks on items of the model."""
        items = rows_or_unknown(self.given.item_ids, self.item_ids, "item")[self.given.items]
        is_present = items < len(self.item_ids)
        return clicks_of(self.given.users[is_present], items[is_present], self.shape)

    def rows(self, X):
        """Return rows as in Lister."""
        return pairs_in_rows(X, self.user_ids, self.item_ids, self._rows_of)

    def _rows_of(self, ids, what):
        return rows_or_unknown(ids, getattr(self, f"{what}_ids"), what)

    def tiles(self, users, n):
        """Yield tiles as in Lister."""
        wanted = np.zeros(len(self.user_ids), np.bool_)
        wanted[rows_or_unknown(users, self.user_ids)] = True
        given = self.given.take(wanted[self.given.users])
        return self.model.recommend_for_batches(given, n, "clicks", by=self.by, unknown="skip")


def split_new_users(ratings, fraction=0.2, seed=0):
    """Return (given, later) of new users' Ratings.

    later: the last `fraction` of each user's ratings by time, or random ones if there are no times. The only rating of
    a user is given.
    """
    ranks = ratings.ranks_by_chance(seed) if ratings.times is None else ratings.ranks_in_time("user-time")
    return ratings.parted(mask_before_last(*ranks, fraction))
