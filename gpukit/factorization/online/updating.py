"""Updates of a fitted model; a mixin of the estimators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from gpukit.factorization.serve import Serving

if TYPE_CHECKING:
    from gpukit.factorization.online.session import Live
    from gpukit.factorization.settings import Hashes, Rows
    from gpukit.ratings.repeats import Rule
    from gpukit.typing import ArrayLike, DeviceLike, Progress, RatingsLike


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

        New ids are appended to user_ids_ and item_ids_; old rows keep their numbers. Ratings that the model has with
        the same value are ignored, unless duplicates='error'. The ratings' mean and deviation stay those of fit. A
        model is retrained on all ratings when they have doubled since its settings were chosen, or with up to 200,000
        ratings, grown by a twenty-fifth. This requires rows='move', hashes='recount' and replay=None; rows is 'anew' in
        updates_ then.

        Parameters
        ----------
        X : Ratings, matrix, DataFrame, or pairs
            As in fit.
        y : (n,) or None
            Ratings of the pairs X.
        rows : {'move', 'frozen'}
            'move' trains all rows on the new ratings and on `replay` earlier ones for each. 'frozen' leaves rows with
            earlier ratings bit-identical (the paper's Algorithm 4); ratings of known users for known items only enter
            the history.
        hashes : {'recount', 'kept'}
            Search the neighbours of changed items again, or only those of new items.
        duplicates : {'last', 'mean', 'error'}
            Rule for repeated pairs and pairs in the history; 'last' is the new rating.
        replay : float or None
            Earlier ratings for each new one. None: 0, and the whole history when it has grown by a twenty-fifth.
        widen_scale : bool
            Accept ratings outside scale_, which widens to them; negative counts are then not clicks.
        progress : callable or None
            As in fit.

        Returns
        -------
        self
            updates_ has one more dict: ratings, corrected, users, items (numbers of new ones), rows, walked (ratings
            times epochs), settled (ratings at the last epoch over the whole history), seconds by stage.

        Raises
        ------
        ParameterError, DeviceError, DeviceMemoryError
        DataError
            A rating is outside scale_, a count is negative, or ids have another type. The model is unchanged after any
            error.

        Examples
        --------
        >>> from gpukit import MatrixFactorization, synth_ratings
        >>> model = MatrixFactorization(n_factors=4, n_epochs=3).fit(synth_ratings("ml-10m", scale=0.001))
        >>> model.partial_fit(([1, 10_000], [5, 6], [4.0, 2.5])).updates_[-1]["users"]
        1
        """
        from gpukit.factorization.online.inputs import check_options

        options = check_options(rows, hashes, duplicates, replay, widen_scale)
        if not hasattr(self, self._fitted_by):
            return self._first_fit(X, y, options, progress)
        from gpukit.factorization.online import inputs, run

        self.check()
        ratings, low = inputs.read_batch(X, y, options, self)
        if self.feedback_ == "implicit":
            from gpukit.factorization.implicit.update import update_clicks as update
        else:
            update = run.update_model
        update(self, ratings, options, progress or (lambda *news: None))
        if low is not None:
            self._mark_low(low)
        return self

    def live(self, device: DeviceLike | None = None) -> Live:
        """Return the model on a device, to which ratings are added in milliseconds.

        They are learned as by partial_fit(rows='frozen'). The model itself is not changed.

        Parameters
        ----------
        device : str or None
            'cpu', 'cuda', 'cuda:N'; None: the device of the model.

        Returns
        -------
        gpukit.factorization.online.session.Live

        Raises
        ------
        ParameterError
            The model is of clicks, or its neighbours have no additive sums.
        DeviceError, DeviceMemoryError
        """
        from gpukit.factorization.online.session import Live

        self._check_fitted()
        return Live(self, self.device if device is None else device)

    def _as_learned(self, ratings, widen_scale=False):
        """Return Ratings as this model learns them: of clicks, their weights.

        Raises DataError for clicks in a model of ratings and, unless widen_scale, for another scale.
        """
        if self.feedback_ == "implicit":
            from gpukit.factorization.implicit.update import weights_of

            return weights_of(self, ratings)
        from gpukit.factorization.online import inputs

        return inputs.check_ratings(ratings, self._scale, 0 if widen_scale else len(self._rated.items))

    def _first_fit(self, X, y, options, progress):
        """Fit on ratings without duplicates."""
        from gpukit.ratings.convert import merge_repeats, table_of

        ratings = merge_repeats(table_of(X, y), X, options.duplicates, timed=False, stacklevel=3)
        return self.fit(ratings, progress=progress)
