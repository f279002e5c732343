"""Updates of a fitted model and recommendations for new users; a mixin of the estimators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from gpukit import device as devices
from gpukit.device.engine import engine
from gpukit.factorization import settings
from gpukit.factorization.lookup import known_rows
from gpukit.factorization.serve import Serving
from gpukit.factorization.update import settings as updating
from gpukit.factorization.update import update_log

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gpukit.factorization.lists.filters import Filters
    from gpukit.factorization.lists.recommending import RankedBy
    from gpukit.factorization.live.session import Live
    from gpukit.factorization.update.settings import Hashes, Rows
    from gpukit.ratings import Ratings
    from gpukit.ratings.repeats import Rule
    from gpukit.typing import ArrayLike, DeviceLike, Float32, Ids, Progress, RatingsLike


class Updating(Serving):
    """A model that learns new ratings. A subclass has the methods that Serving needs, `check`, and the parts of
    `prepare`."""

    def partial_fit(
        self,
        X: RatingsLike,
        y: ArrayLike | None = None,
        *,
        rows: Rows = "move",
        hashes: Hashes = "recount",
        duplicates: Rule = "last",
        replay: float | None = None,
        widen_scale: bool = False,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from new ratings of known and new users and items; the first call fits.

        X, y: as in fit. New ids are appended to user_ids_ and item_ids_; old rows keep their numbers. rows: 'move'
        trains all rows on the new ratings and on `replay` earlier ones for each (None: 0, and the whole history when it
        has grown by a twenty-fifth). 'frozen' leaves rows with earlier ratings bit-identical (the paper's Algorithm 4);
        ratings of known users for known items only enter the history. hashes: 'recount' searches the neighbours of
        changed items again, 'kept' only those of new items. duplicates: rule for repeated pairs and pairs in the
        history: 'last' (the new rating), 'mean' or 'error'. Ratings that the model has with the same value are ignored,
        unless duplicates='error'. The ratings' mean and deviation stay those of fit. A rating outside scale_, or a
        negative count for a model of counts, raises DataError with its row. widen_scale=True accepts such ratings;
        scale_ widens to them, and negative counts are not clicks. progress: as in fit.

        A model is retrained on all ratings when they have doubled since its settings were chosen, or with up to 200,000
        ratings, grown by a twenty-fifth. This requires rows='move', hashes='recount' and replay=None; rows is 'anew' in
        updates_ then.

        Adds to updates_ a dict for each call: ratings, corrected, users, items (numbers of new ones), rows, walked
        (ratings times epochs), settled (ratings at the last epoch over the whole history), seconds by stage. Raises
        ParameterError, DataError, DeviceError, DeviceMemoryError; the model is then unchanged.
        """
        options = updating.check(rows, hashes, duplicates, replay, widen_scale)
        if not hasattr(self, self._fitted_by):
            return self._first_fit(X, y, options, progress)
        from gpukit.factorization.implicit import update as clicks
        from gpukit.factorization.update import inputs, merge, retrain, run

        self.check()
        has_clicks = self.feedback_ == "implicit"
        bounds = None if options.widen_scale else inputs.bounds_of(self)
        taken = self._taken(options.widen_scale)
        part = inputs.part_of(X, y, self.user_ids_, self.item_ids_, options.duplicates, taken, bounds)
        inputs.check_near(part.values, self._scale)
        if not has_clicks and options.duplicates != "error":
            part = merge.drop_unchanged(self._rated, self._scale, part)
        before = getattr(self, "updates_", [])
        if not len(part):
            self.updates_ = [*before, update_log.empty_entry(self, options.rows)]
            return self
        if retrain.is_due(self, part, options):
            return retrain.replace_model(self, retrain.retrain_model(self, part, options, progress))
        device = devices.resolve(self.device)
        model = run.Model(
            self._state, self._rated, self._scale, update_log.last_full_count(before, len(self._rated.items))
        )
        report = progress or (lambda *news: None)
        with devices.reported(device, "Updating"):
            trainer = run.trainer_of(self, device, lambda orders: self._neighbors_of(orders, device))
            if has_clicks:
                updated = clicks.update(self, part, options, device, report)
            else:
                updated = run.update(model, part, options, trainer, report)
        if updated is None:
            return retrain.replace_model(self, retrain.retrain_model(self, part, options, progress))
        self.device_, self.updates_ = str(device), [*before, updated.entry]
        self.set_fitted(updated.state, updated.history, updated.scale, part.user_ids, part.item_ids)
        return self

    def live(self, device: DeviceLike | None = None) -> Live:
        """Return a gpukit.factorization.live.session.Live: the model on a device (None: its own).

        Ratings are added to it in milliseconds, as by partial_fit(rows='frozen'). The model itself is not changed.
        Raises ParameterError for a model of clicks and for neighbours without additive sums; DeviceError,
        DeviceMemoryError.
        """
        from gpukit.factorization.live.session import Live

        self._check_fitted()
        return Live(self, self.device if device is None else device)

    def recommend_for(
        self,
        X: RatingsLike | Mapping[Any, float],
        y: ArrayLike | None = None,
        n: int = 10,
        exclude_seen: bool = True,
        duplicates: Rule = "last",
        *,
        by: RankedBy = "lists",
        filters: Filters | None = None,
        unknown: Literal["error", "skip"] = "error",
    ) -> tuple[Ids, Ids, Float32]:
        """Return (user ids (B,), item ids (B, n), scores (B, n) float32), best first, for users with these ratings.

        X, y: ratings as in fit, of users who need not be known; the model's own data on them are not used. For one user
        also {item: rating}, or for clicks [item, ...]; the user's id is then 0. The model is not changed: factors (by
        'rating': also the bias) are solved for with the items' parameters fixed (lists/head.py, implicit/fold.py,
        update/fold.py), and the neighbourhood's terms are of these ratings. unknown: unknown items raise DataError
        ('error') or their ratings are ignored ('skip'). duplicates: as in partial_fit. The items of these ratings are
        excluded unless exclude_seen is False. by, filters, scores and missing values: as in recommend. Raises
        ParameterError, DataError, also for a rating outside scale_ and for a negative count.
        """
        from gpukit.factorization.update import inputs

        self._check_fitted()
        ratings = inputs.read_user_ratings(X, y, duplicates, inputs.bounds_of(self))
        tiles = list(self.recommend_for_batches(ratings, n, exclude_seen, by=by, filters=filters, unknown=unknown))
        return tuple(np.concatenate(column) for column in zip(*tiles))

    def recommend_for_batches(
        self,
        ratings: Ratings,
        n: int = 10,
        exclude_seen: bool = True,
        *,
        by: RankedBy = "lists",
        filters: Filters | None = None,
        unknown: Literal["error", "skip"] = "error",
    ) -> Iterator[tuple[Ids, Ids, Float32]]:
        """Generate recommend_for's results for Ratings, one user at a time."""
        from gpukit.factorization.update import fold, inputs

        self._check_fitted()
        request, taken = self._request(n, exclude_seen, by, filters), self._taken()
        score = self._scorer(request.ranking)
        learned = taken(ratings)
        known_rows(self, learned.item_ids[np.unique(learned.items)], "item", unknown, "skip")
        known = self.item_ids_, self._order_of("item")
        for user, user_ratings in inputs.iterate_users(learned, *known, self._scale):
            scores = score(user_ratings) + request.worth
            pools = fold.rank_items(scores, user_ratings, request.pool, request.hide)
            yield (ratings.user_ids[user : user + 1], *self._named(*self._listed(*pools, request), request, n))

    def _taken(self, widen_scale=False):
        """Return the function from the Ratings read to those learned.

        It raises DataError for clicks in a model of ratings and for another scale unless widen_scale.
        """
        if self.feedback_ == "explicit":
            from gpukit.factorization.update import inputs

            known = 0 if widen_scale else len(self._rated.items)
            return lambda ratings: inputs.check_ratings(ratings, self._scale, known)
        from gpukit.factorization.implicit.update import weights_of

        return lambda ratings: weights_of(self, ratings)

    def _scorer(self, ranking):
        """Return the function from fold.UserRatings to scores (N,) of all items by a Ranking."""
        if ranking.head is not None:
            from gpukit.factorization.lists.head import folding

            return self._prepare("scorer of lists", lambda: folding(ranking.head, ranking.state))
        if self.feedback_ == "implicit":
            from gpukit.factorization.implicit.fold import scorer

            return self._prepare("scorer", lambda: scorer(self))
        from gpukit.factorization.update import fold

        decay, state = settings.of_model(self, len(self._rated.items)).regularization, self._state
        return lambda ratings: fold.predict_scores(state, ratings, fold.fit_user(state, ratings, decay))

    def _first_fit(self, X, y, options, progress):
        """Fit on ratings without duplicates."""
        from gpukit.ratings.pairs import merge_repeats, table_of

        ratings = merge_repeats(table_of(X, y), X, options.duplicates, timed=False, stacklevel=3)
        return self.fit(ratings, progress=progress)

    def _neighbors_of(self, orders, device):
        """Return the neighbours (N, K) int32 of ratings in orders, on the host, K as in the model."""
        return self.find_neighbors(orders, engine(device, "gpukit.factorization"), self.neighbors_.shape[1])
