"""Evaluation of lists, compared with popularity, item kNN, EASE and other models.

All are judged on the same users and clicks, by all ranks: a fitted model for known or for new users.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gpukit.device import resolve
from gpukit.errors import DataError
from gpukit.evaluation.lists import (
    LeftOut,
    Popularity,
    check_cuts,
    clicks_in_rows,
    clicks_of,
    judge,
    select_judged_pairs,
)
from gpukit.evaluation.significance import Difference, compare
from gpukit.evaluation.splits import mask_before_last
from gpukit.factorization.serve import pairs_in_rows, rows_or_unknown
from gpukit.factorization.solvers.ease import Ease
from gpukit.neighbors.item_knn import ItemKNN
from gpukit.parallel import ALONE
from gpukit.ratings.adopt import ratings_of


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
        ids = {"user": self.user_ids, "item": self.item_ids}
        return pairs_in_rows(X, *ids.values(), lambda values, what: rows_or_unknown(values, ids[what], what))

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


SPAN = 1 << 13  # users at a time


def lists_by(team, lists, users, n):
    """Yield the tiles of lists(users, n), on every rank of a Team.

    The tiles are those of evaluation.lists.judge, in the order of users, and bit-identical to those of one rank.
    """
    if team.size == 1:
        yield from lists(users, n)
        return
    for first in range(0, len(users), SPAN * team.size):
        rank_users = users[first + SPAN * team.rank :][:SPAN]
        result = concatenate_tiles(lists(rank_users, n) if len(rank_users) else (), n)
        for tile in zip(*(team.allgather(part) for part in result)):
            if len(tile[0]):
                yield tile


def concatenate_tiles(tiles, n):
    """Return (user rows (b,), item rows (b, n) int32) of concatenated tiles.

    Both are empty without tiles.
    """
    none = np.empty(0, np.int64), np.empty((0, n), np.int32)
    rows, items = zip(none, *tiles)
    return np.concatenate(rows), np.concatenate(items)


class Report(NamedTuple):
    """Result of an evaluation of lists.

    judged: judge.Judged, the models first, then baselines; cuts; users: ids of the users of the values; left_out:
    clicks.LeftOut of the test; strange: pairs excluded since other models cannot judge them.
    """

    judged: list
    cuts: tuple
    users: np.ndarray
    left_out: LeftOut
    strange: int

    def rows(self, k: int) -> list[dict[str, Any]]:
        """Return a dict for each predictor: its means at k."""
        return [predictor.row(k) for predictor in self.judged]

    def difference(self, metric: str, k: int, predictor: int = 0, other: int = 1, seed: int = 0) -> Difference:
        """Return the significance.Difference of two predictors, by their positions in judged."""
        ours, theirs = (self.judged[place].values[k][metric] for place in (predictor, other))
        return compare(ours, theirs, seed)

    def best(self, metric: str, k: int) -> int:
        """Return the position in judged of the predictor with the highest mean.

        Ties: the first.
        """
        return int(np.argmax([predictor.values[k][metric].mean() for predictor in self.judged]))


def listers_of(models, given=None, by="lists"):
    """Return the Listers of models {name: fitted estimator}.

    given: ratings of the users to judge, as in fit, or None; by: ranking, as in `recommend`.
    """
    for model in models.values():
        model._check_fitted()
    given = None if given is None else ratings_of(given)
    return [Lister(model, by) if given is None else Newcomers(model, given, by) for model in models.values()]


def judge_lists(models, X, k=None, baselines=True, given=None, by="lists", team=ALONE):
    """Return the Report of models {name: fitted estimator} over the full ranking.

    The models are judged on the same users and clicks, and share ids. baselines: True to train them on the first one's
    clicks, or a list of trained ones. team: the parallel.Team whose ranks make the lists, each for some users; every
    rank gets the Report. Other arguments and errors as `evaluate_lists`.
    """
    listers = listers_of(models, given, by)
    lead = listers[0]
    most = min(len(lister.item_ids) for lister in listers)
    cuts = check_cuts(min(10, most) if k is None else k, most)
    sides, lost = common_pairs(listers, X)
    users = np.unique(sides[0][0])
    ids, judged = lead.user_ids[users], []
    for name, lister, side in zip(models, listers, sides):
        lists = lists_by(team, lister.lists, ids, cuts[-1])
        judged.append(judge(name, lists, clicks_of(*side, lister.shape), lister.counts, cuts))
    relevant = clicks_of(*sides[0], lead.shape)
    for result in lead.baselines() if baselines is True else baselines or ():
        judged.append(judge(result.name, lists_by(team, result.lists, users, cuts[-1]), relevant, lead.counts, cuts))
    return Report(judged, cuts, ids, *lost)


def common_pairs(listers, X):
    """Return (sides, (left_out, strange)) of the pairs X that all models can judge.

    sides: (user rows, item rows) of each Lister; left_out, strange: see Report. Raises DataError if none is left.
    """
    sides = [lister.rows(X) for lister in listers]
    masks = [select_judged_pairs(*side, own.known, len(own.item_ids)) for side, own in zip(sides, listers)]
    is_common, (is_judged, left_out) = np.logical_and.reduce([mask for mask, _ in masks]), masks[0]
    strange = int(is_judged.sum()) - int(is_common.sum())
    if not is_common.any():
        raise DataError(no_pairs_message(left_out, strange))
    return [tuple(rows[is_common] for rows in side) for side in sides], (left_out, strange)


def no_pairs_message(left_out, strange):
    """Return a message that explains why no pair can be judged."""
    if not left_out.pairs:
        return "There are no clicks to judge lists by: 0 pairs."
    why = f"{left_out.unknown_users:,} of users and {left_out.unknown_items:,} of items that the model does not know, "
    why += f"{left_out.known:,} that it was trained on"
    why += f", {strange:,} that other models cannot judge" if strange else ""
    return f"None of the {left_out.pairs:,} pairs can be judged: {why}. Test on later clicks of users whom it knows."
