"""What a fitted model does with ratings that come later; a mixin of the estimators."""

import numpy as np

from gpukit import device as devices
from gpukit.device.engine import engine
from gpukit.factorization import settings
from gpukit.factorization.lookup import known_rows
from gpukit.factorization.serve import Serving
from gpukit.factorization.update import settings as updating
from gpukit.factorization.update import update_log


class Updating(Serving):
    """A model that takes new ratings. A subclass has what Serving wants, `prepare`'s parts and `check`."""

    def partial_fit(
        self,
        X,
        y=None,
        *,
        rows="move",
        hashes="recount",
        duplicates="last",
        replay=None,
        widen_scale=False,
        progress=None,
    ):
        """Learn from new ratings, of known users and items, of new ones, in any mix; the first call fits.

        X, y: as fit takes them. Ids that are not known are appended to user_ids_ and item_ids_: old rows keep their
        numbers. A pair that the model has learned from is corrected by rule `duplicates`, as is one that comes twice:
        'last' (the new rating), 'mean', 'error'. rows: 'move', all rows learn of the new ratings and of `replay`
        earlier ones for each (None: 0, and the whole history once it has grown by a twenty-fifth); 'frozen', the rows
        that had ratings stay bit by bit (the paper's Algorithm 4), and ratings of known users for known items only
        enter the history. hashes: 'recount', the neighbours of items that have changed are looked for again, 'kept',
        those of new items alone. The ratings' mean and deviation stay those of fit. A rating outside scale_, or a
        negative count for a model of counts, raises DataError with its row. widen_scale=True accepts such ratings;
        scale_ widens to them, and negative counts are no clicks.
        A model of ratings that have become twice as many as when its settings were chosen, or of up to 200,000 that
        have grown by a twenty-fifth, is trained anew on all of them, where rows may move, hashes are recounted and
        replay is left open; rows is 'anew' in updates_ then. progress: as fit.

        Ratings that the model has as they are count for nothing, unless duplicates='error'. Leaves in updates_ a dict
        for each call: ratings, corrected, users, items (how many are new), rows, walked
        (ratings times epochs), settled (ratings when the whole history was last walked), seconds by stage.
        Raises ParameterError, DataError, DeviceError, DeviceMemoryError; the model is then as it was.
        """
        asked = updating.check(rows, hashes, duplicates, replay, widen_scale)
        if not hasattr(self, self._fitted_by):
            return self._first_fit(X, y, asked, progress)
        from gpukit.factorization.implicit import update as clicks
        from gpukit.factorization.update import inputs, merge, retrain, run

        self.check()
        of_clicks = self.feedback_ == "implicit"
        bounds = None if asked.widen_scale else inputs.bounds_of(self)
        taken = self._taken(asked.widen_scale)
        part = inputs.part_of(X, y, self.user_ids_, self.item_ids_, asked.duplicates, taken, bounds)
        inputs.check_near(part.values, self._scale)
        if not of_clicks and asked.duplicates != "error":
            part = merge.changes(self._rated, self._scale, part)
        before = getattr(self, "updates_", [])
        if not len(part):
            self.updates_ = [*before, update_log.empty_entry(self, asked.rows)]
            return self
        if retrain.is_due(self, part, asked):
            return retrain.replace_model(self, retrain.retrain_model(self, part, asked, progress))
        device = devices.resolve(self.device)
        model = run.Model(
            self._state, self._rated, self._scale, update_log.last_full_count(before, len(self._rated.items))
        )
        news = progress or (lambda *news: None)
        with devices.reported(device, "Updating"):
            trainer = run.trainer_of(self, device, lambda orders: self._neighbors_of(orders, device))
            done = (
                clicks.update(self, part, asked, device, news)
                if of_clicks
                else run.update(model, part, asked, trainer, news)
            )
        if done is None:
            return retrain.replace_model(self, retrain.retrain_model(self, part, asked, progress))
        self.device_, self.updates_ = str(device), [*before, done.told]
        self.set_fitted(done.state, done.history, done.scale, part.user_ids, part.item_ids)
        return self

    def live(self, device=None):
        """A gpukit.factorization.live.session.Live: the model kept on a device (None: its own), to which parts are
        added in milliseconds, as by partial_fit(rows='frozen'). The model itself stays as it is.

        Raises ParameterError for a model of clicks and for neighbours whose search adds nothing up; DeviceError,
        DeviceMemoryError.
        """
        from gpukit.factorization.live.session import Live

        self._check_fitted()
        return Live(self, self.device if device is None else device)

    def recommend_for(
        self, X, y=None, n=10, exclude_seen=True, duplicates="last", *, by="lists", filters=None, unknown="error"
    ):
        """(user ids (B,), item ids (B, n), scores (B, n) float32), best first, for users whose ratings are given here;
        the model stays as it is.

        X, y: ratings as fit takes them, of users who need not be known: what the model knows of them does not count.
        For one user also {item: rating}, of clicks [item, ...]; the user's id is then 0. Factors (by 'rating': bias,
        too) are solved for, with the items' numbers as they are (lists/head.py, implicit/fold.py, update/fold.py); the
        neighbourhood's terms are of the ratings given. unknown: items that the model does not know raise DataError
        ('error'), or their ratings are left out of account ('skip'). duplicates: as partial_fit. Items given are left
        out unless exclude_seen is False; by, filters, scores and what is missing as recommend has them. Raises
        ParameterError, DataError, also for a rating outside scale_ and for a negative count.
        """
        from gpukit.factorization.update import inputs

        self._check_fitted()
        ratings = inputs.lists_of(X, y, duplicates, inputs.bounds_of(self))
        tiles = list(self.recommend_for_batches(ratings, n, exclude_seen, by=by, filters=filters, unknown=unknown))
        return tuple(np.concatenate(column) for column in zip(*tiles))

    def recommend_for_batches(self, ratings, n=10, exclude_seen=True, *, by="lists", filters=None, unknown="error"):
        """Generator of recommend_for's answers, a user at a time, for Ratings."""
        from gpukit.factorization.update import fold, inputs

        self._check_fitted()
        request, taken = self._request(n, exclude_seen, by, filters), self._taken()
        score = self._scorer(request.ranking)
        learned = taken(ratings)
        known_rows(learned.item_ids[np.unique(learned.items)], self.item_ids_, "item", unknown, "skip")
        for user, given in inputs.given_to(learned, self.item_ids_, self._scale):
            pools = fold.best_of(score(given) + request.worth, given, request.pool, request.hide)
            yield (ratings.user_ids[user : user + 1], *self._named(*self._listed(*pools, request), request, n))

    def _taken(self, widen_scale=False):
        """The function that gives the Ratings to learn of those that were read; DataError for clicks where the model is
        of ratings, and for another scale unless widen_scale."""
        if self.feedback_ == "explicit":
            from gpukit.factorization.update import inputs

            known = 0 if widen_scale else len(self._rated.items)
            return lambda ratings: inputs.rated(ratings, self._scale, known)
        from gpukit.factorization.implicit.update import weights_of

        return lambda ratings: weights_of(self, ratings)

    def _scorer(self, ranking):
        """The function that gives scores (N,) of all items, by a Ranking, for what a user gave, a fold.Given."""
        if ranking.head is not None:
            from gpukit.factorization.lists.head import folding

            return folding(ranking.head, ranking.state)
        if self.feedback_ == "implicit":
            from gpukit.factorization.implicit.fold import scorer

            return scorer(self)
        from gpukit.factorization.update import fold

        decay, state = settings.of_model(self, len(self._rated.items)).regularization, self._state
        return lambda given: fold.scores_of(state, given, fold.taste_of(state, given, decay))

    def _first_fit(self, X, y, asked, progress):
        """fit, on what the rule for repeats leaves."""
        from gpukit.ratings.pairs import merge_repeats, table_of

        ratings = merge_repeats(table_of(X, y), X, asked.duplicates, timed=False, stacklevel=3)
        return self.fit(ratings, progress=progress)

    def _neighbors_of(self, orders, device):
        """(N, K) int32 on the host: neighbours of ratings in orders, as many as the model has."""
        return self.find_neighbors(orders, engine(device, "gpukit.factorization"), self.neighbors_.shape[1])
