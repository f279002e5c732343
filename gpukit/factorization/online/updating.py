"""Updates of a fitted model and recommendations for new users; a mixin of the estimators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from gpukit.factorization import settings
from gpukit.factorization.lookup import known_rows
from gpukit.factorization.online.plan import check_options
from gpukit.factorization.serve import Serving

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gpukit.factorization.lists.filters import Filters
    from gpukit.factorization.lists.recommending import RankedBy
    from gpukit.factorization.online.plan import Hashes, Rows
    from gpukit.factorization.online.session import Live
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
        options = check_options(rows, hashes, duplicates, replay, widen_scale)
        if not hasattr(self, self._fitted_by):
            return self._first_fit(X, y, options, progress)
        from gpukit.factorization.online import inputs, run

        self.check()
        ratings = inputs.read_batch(X, y, options, self)
        if self.feedback_ == "implicit":
            from gpukit.factorization.implicit.update import update_clicks as update
        else:
            update = run.update_model
        update(self, ratings, options, progress or (lambda *news: None))
        return self

    def live(self, device: DeviceLike | None = None) -> Live:
        """Return a gpukit.factorization.online.session.Live: the model on a device (None: its own).

        Ratings are added to it in milliseconds, as by partial_fit(rows='frozen'). The model itself is not changed.
        Raises ParameterError for a model of clicks and for neighbours without additive sums; DeviceError,
        DeviceMemoryError.
        """
        from gpukit.factorization.online.session import Live

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
        online/fold.py), and the neighbourhood's terms are of these ratings. unknown: unknown items raise DataError
        ('error') or their ratings are ignored ('skip'). duplicates: as in partial_fit. The items of these ratings are
        excluded unless exclude_seen is False. by, filters, scores and missing values: as in recommend. Raises
        ParameterError, DataError, also for a rating outside scale_ and for a negative count.
        """
        from gpukit.factorization.online import inputs

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
        from gpukit.factorization.online import fold, inputs

        self._check_fitted()
        request = self._request(n, exclude_seen, by, filters)
        score = self._scorer(request.ranking)
        learned = self._as_learned(ratings)
        known_rows(self, learned.item_ids[np.unique(learned.items)], "item", unknown, "skip")
        known = self.item_ids_, self._order_of("item")
        for user, user_ratings in inputs.iterate_users(learned, *known, self._scale):
            scores = score(user_ratings) + request.worth
            pools = fold.rank_items(scores, user_ratings, request.pool, request.hide)
            yield (ratings.user_ids[user : user + 1], *self._named(*self._listed(*pools, request), request, n))

    def _as_learned(self, ratings, widen_scale=False):
        """Return Ratings as this model learns them: of clicks, their weights.

        Raises DataError for clicks in a model of ratings and, unless widen_scale, for another scale.
        """
        if self.feedback_ == "implicit":
            from gpukit.factorization.implicit.update import weights_of

            return weights_of(self, ratings)
        from gpukit.factorization.online import inputs

        return inputs.check_ratings(ratings, self._scale, 0 if widen_scale else len(self._rated.items))

    def _scorer(self, ranking):
        """Return the function from fold.UserRatings to scores (N,) of all items by a Ranking."""
        if ranking.head is not None:
            from gpukit.factorization.lists.head import folding

            return self._prepare("scorer of lists", lambda: folding(ranking.head, ranking.state))
        if self.feedback_ == "implicit":
            from gpukit.factorization.implicit.fold import scorer

            return self._prepare("scorer", lambda: scorer(self))
        from gpukit.factorization.online import fold

        decay, state = settings.of_model(self, len(self._rated.items)).regularization, self._state
        return lambda ratings: fold.predict_scores(state, ratings, fold.fit_user(state, ratings, decay))

    def _first_fit(self, X, y, options, progress):
        """Fit on ratings without duplicates."""
        from gpukit.ratings.pairs import merge_repeats, table_of

        ratings = merge_repeats(table_of(X, y), X, options.duplicates, timed=False, stacklevel=3)
        return self.fit(ratings, progress=progress)
