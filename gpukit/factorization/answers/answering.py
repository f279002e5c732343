"""Methods of both estimators for similarity, explanations, evidence, exports and users with ratings of their own."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from gpukit.base import check_choice, check_integer
from gpukit.errors import DataError, ParameterError
from gpukit.factorization.answers import explaining, exporting
from gpukit.factorization.constants import RULES
from gpukit.factorization.implicit.feedback import judges_of
from gpukit.factorization.lists.recommending import BY as RANKED_BY
from gpukit.factorization.lists.recommending import Recommending
from gpukit.factorization.online.inputs import bounds_of
from gpukit.factorization.serve import MOST_ANSWERS, known_rows
from gpukit.io.ids import rows_of
from gpukit.ratings.adopt import adopt, merge_repeats, normalize_weights, ratings_of, replace_weights
from gpukit.ratings.check import ratings_below

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gpukit.factorization.answers.explaining import Explanation
    from gpukit.factorization.answers.exporting import Side
    from gpukit.factorization.answers.judging import Report
    from gpukit.factorization.lists.recommending import ExcludeSeen, Filters, RankedBy
    from gpukit.ratings.repeats import Rule
    from gpukit.typing import ArrayLike, Float32, Ids, IdsLike, Int64, Path, RatingsLike

SimilarBy = Literal["evidence", "factors"]
BY = get_args(SimilarBy)


class Answering(Recommending):
    """A fitted State with similarity, explanations and evaluation of lists."""

    def similar_items(
        self, item: int | str, n: int = 10, by: SimilarBy = "evidence", with_evidence: bool = False
    ) -> tuple[Any, ...]:
        """Return items that are similar to an item, best first.

        Parameters
        ----------
        item : int or str
            Id of the item.
        n : int
            Largest number of items, default 10.
        by : {'evidence', 'factors'}
            'evidence': common raters, their ratings and the factors, damped if few rated both (answers/similarity.py);
            items without a common rater are excluded. 'factors': the cosine of the factors, or the weights from this
            item if the model has no factors.
        with_evidence : bool
            Add two arrays to the result.

        Returns
        -------
        ids : (m,) int64 or str
        scores : (m,) float32
        common, ratings : (m,) int64
            Only with_evidence: numbers of common raters, and of ratings of each item.

        Raises
        ------
        DataError
            The item is unknown.

        Examples
        --------
        >>> from gpukit import MatrixFactorization, synth_ratings
        >>> model = MatrixFactorization(n_factors=4, n_epochs=3).fit(synth_ratings("ml-10m", scale=0.001))
        >>> ids, scores = model.similar_items(5, n=3)
        >>> ids.shape
        (3,)
        """
        return self._similar("item", self._row_of(item, "item"), n, by, with_evidence)

    def similar_users(
        self, user: int | str, n: int = 10, by: SimilarBy = "evidence", with_evidence: bool = False
    ) -> tuple[Any, ...]:
        """Return users that are similar to a user, best first.

        Parameters
        ----------
        user : int or str
            Id of the user.
        n : int
            Largest number of users, default 10.
        by : {'evidence', 'factors'}
            As in similar_items; users are compared by the items that both rated.
        with_evidence : bool
            Add two arrays to the result.

        Returns
        -------
        ids : (m,) int64 or str
        scores : (m,) float32
        common, ratings : (m,) int64
            Only with_evidence: numbers of items that both rated, and of ratings of each user.

        Raises
        ------
        DataError
            The user is unknown.

        Examples
        --------
        >>> from gpukit import MatrixFactorization, synth_ratings
        >>> model = MatrixFactorization(n_factors=4, n_epochs=3).fit(synth_ratings("ml-10m", scale=0.001))
        >>> ids, scores = model.similar_users(1, n=3)
        >>> ids.shape
        (3,)
        """
        return self._similar("user", self._row_of(user, "user"), n, by, with_evidence)

    def explain(
        self, user: int | str, item: int | str, by: RankedBy = "lists", unknown: Literal["error", "baseline"] = "error"
    ) -> Explanation:
        """Return a score of one user and one item as a sum.

        Parameters
        ----------
        user, item : int or str
            One id each.
        by : {'lists', 'rating'}
            The score that `recommend` shows, or the predicted rating; a model of clicks has one score. The ranking of
            lists is learned at the first use, as by `recommend`.
        unknown : {'error', 'baseline'}
            'error': DataError for an unknown user or item. 'baseline': known_user and known_item of the result report
            it, and their parts are 0.

        Returns
        -------
        explaining.Explanation
            Its `total` is the sum, `rated` has the terms of the user's ratings, largest first.

        Raises
        ------
        ParameterError
            `by` has another value.
        DataError
            An id is invalid or unknown.

        Examples
        --------
        >>> from gpukit import MatrixFactorization, synth_ratings
        >>> model = MatrixFactorization(n_factors=4, n_epochs=3).fit(synth_ratings("ml-10m", scale=0.001))
        >>> explanation = model.explain(1, 5, by="rating")
        >>> bool(explanation.total > 0)
        True
        """
        self._check_fitted()
        by = "rating" if check_choice("by", by, RANKED_BY) == "rating" or self.feedback_ != "explicit" else "lists"
        sides = {"user": user, "item": item}
        rows = [int(known_rows(self, [value], what, unknown, "baseline")[0]) for what, value in sides.items()]
        return explaining.explain(self, (user, item), rows, by)

    def evidence(
        self, users: IdsLike, items: IdsLike, unknown: Literal["error", "zero"] = "error"
    ) -> tuple[Int64, Int64]:
        """Return the numbers of training ratings behind predictions of pairs.

        Parameters
        ----------
        users, items : (n,) int or str
            Ids.
        unknown : {'error', 'zero'}
            DataError for unknown ids, or 0 for their numbers.

        Returns
        -------
        of_users, of_items : (n,) int64
            Ratings of each user and of each item.

        Raises
        ------
        DataError
            An id is unknown.

        Examples
        --------
        >>> from gpukit import MatrixFactorization, synth_ratings
        >>> model = MatrixFactorization(n_factors=4, n_epochs=3).fit(synth_ratings("ml-10m", scale=0.001))
        >>> of_users, of_items = model.evidence([1, 2], [5, 6])
        >>> of_users.shape
        (2,)
        """
        self._check_fitted()
        rows = known_rows(self, users, "user", unknown, "zero"), known_rows(self, items, "item", unknown, "zero")
        return tuple(
            np.where(side < len(counts), counts[np.minimum(side, len(counts) - 1)], 0)
            for side, counts in zip(rows, self.rating_counts())
        )

    def rating_counts(self) -> tuple[Int64, Int64]:
        """Return the numbers of training ratings of all users and items.

        Returns
        -------
        of_users : (M,) int64
        of_items : (N,) int64

        Examples
        --------
        >>> from gpukit import MatrixFactorization, synth_ratings
        >>> model = MatrixFactorization(n_factors=4, n_epochs=3).fit(synth_ratings("ml-10m", scale=0.001))
        >>> of_users, of_items = model.rating_counts()
        >>> bool(of_users.sum() == of_items.sum())
        True
        """
        self._check_fitted()
        return self._prepare("counts", lambda: counts_of(self._rated, len(self.user_ids_), len(self.item_ids_)))

    def export(self, path: Path, side: Side = "both", vectors: bool = False) -> None:
        """Write factors, biases and numbers of ratings, with their ids.

        Parameters
        ----------
        path : str or Path
            The suffix is the format. '.npz': an array for each fitted attribute (user_factors, item_bias, ...) and
            item_weights, (N, N) or the data of a csr_array with weight_items and weight_starts. '.csv' and '.parquet':
            a row for each user or item: side, id, ratings, bias, factor_0, ...
        side : {'both', 'users', 'items'}
            What to write.
        vectors : bool
            Instead of factors and biases, vectors of F + 2 numbers of users and items, whose products are the
            predictions without neighbours (answers/exporting.py).

        Raises
        ------
        ParameterError
            The suffix is another one.
        DataError
            The data cannot be written.

        Warns
        -----
        UserWarning
            Weights between items are not written.

        Examples
        --------
        >>> from gpukit import MatrixFactorization, synth_ratings
        >>> model = MatrixFactorization(n_factors=4, n_epochs=3).fit(synth_ratings("ml-10m", scale=0.001))
        >>> model.export("model.csv")
        """
        self._check_fitted()
        exporting.export(self, path, check_choice("side", side, exporting.SIDES), vectors)

    def evaluate(self, X: RatingsLike, y: ArrayLike | None = None) -> dict[str, float]:
        """Return errors on ratings, or metrics of lists on clicks.

        Parameters
        ----------
        X : Ratings, matrix, DataFrame, or pairs
            As in fit.
        y : (n,) or None
            Ratings of the pairs X.

        Returns
        -------
        dict of float
            {'rmse', 'mae'}; for a model of clicks {'hr@10', 'recall@10', 'ndcg@10'} of its lists. Clicks are those of
            X that training would have learned.

        Raises
        ------
        DataError
            X has no rating, or no click that can be judged; X has pairs for a model of ratings, or ratings for a model
            of pairs.

        Examples
        --------
        >>> from gpukit import MatrixFactorization, synth_ratings
        >>> train, test = synth_ratings("ml-10m", scale=0.001).split(0.1, seed=0)
        >>> model = MatrixFactorization(n_factors=4, n_epochs=3).fit(train)
        >>> sorted(model.evaluate(test))
        ['mae', 'rmse']
        """
        self._check_fitted()
        if self.feedback_ == "explicit":
            return super().evaluate(X, y)
        k = min(RULES.reported_length, len(self.item_ids_))
        clicks = judges_of(self, ratings_of(X, y), self.feedback_)
        result = self.evaluate_lists(clicks, k, baselines=False).rows(k)[0]
        return {f"{name}@{RULES.reported_length}": result[name] for name in ("hr", "recall", "ndcg")}

    def score(self, X: RatingsLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> float:
        """Return a score for model selection: larger is better.

        Parameters
        ----------
        X : Ratings, matrix, DataFrame, or pairs
            As in fit. Row i of a matrix is of user i of the training matrix, so a part of its rows is not judged
            rightly.
        y : (n,) or None
            Ratings of the pairs X.
        sample_weight : (n,) or None
            Weights of the squared errors, as in fit.

        Returns
        -------
        float
            The negative RMSE, or NDCG@10 for a model of clicks.

        Raises
        ------
        ParameterError
            A model of clicks gets weights.
        DataError
            As in evaluate.

        Warns
        -----
        UserWarning
            X is a matrix with another number of rows than the model has users, as in cross-validation.

        Examples
        --------
        >>> from gpukit import MatrixFactorization, synth_ratings
        >>> train, test = synth_ratings("ml-10m", scale=0.001).split(0.1, seed=0)
        >>> model = MatrixFactorization(n_factors=4, n_epochs=3).fit(train)
        >>> model.score(test) == -model.evaluate(test)["rmse"]
        True
        """
        self._check_fitted()
        is_dense = isinstance(X, np.ndarray) and y is None and X.shape[1:] == self.item_ids_.shape
        if (is_dense or hasattr(X, "tocoo")) and X.shape[0] != len(self.user_ids_):
            warnings.warn(
                f"X has {X.shape[0]:,} rows, the model {len(self.user_ids_):,} users: rows count as the first users. "
                "For cross-validation give pairs (user, item) and y, not a matrix, whose rows it would exchange.",
                stacklevel=2,
            )
        if sample_weight is not None:
            return -self._weighted_rmse(X, y, sample_weight)
        result = self.evaluate(X, y)
        return -result["rmse"] if "rmse" in result else result[f"ndcg@{RULES.reported_length}"]

    def _weighted_rmse(self, X, y, sample_weight):
        """Return the RMSE whose squared errors have weights; arguments as score."""
        if self.feedback_ == "implicit":
            raise ParameterError("sample_weight weighs errors of ratings, and lists of clicks have none: leave it out.")
        weighted = normalize_weights(replace_weights(adopt(X, y), sample_weight, X, y))
        ratings = merge_repeats(weighted, X, stacklevel=3)
        errors = self.predict(ratings, unknown="baseline").astype(np.float64) - ratings.values
        return float(np.sqrt(np.average(errors**2, weights=ratings.weights)))

    def evaluate_lists(
        self,
        X: RatingsLike,
        k: int | Sequence[int] | None = None,
        baselines: bool = True,
        given: RatingsLike | None = None,
        by: RankedBy = "lists",
    ) -> Report:
        """Judge lists of k items by later clicks.

        Lists rank all items, without known clicks. gpukit.evaluation.lists defines the metrics.

        Parameters
        ----------
        X : pairs as in predict
            All ratings count as clicks. Pairs that cannot be judged (unknown users or items, known clicks) are excluded
            and counted.
        k : int, list of int or None
            Lengths of the lists. None: 10, or the number of items if there are fewer.
        baselines : bool
            Add popularity, item kNN and EASE.
        given : ratings as in fit, or None
            Ratings of users, known or not, whose lists are then made from these and judged (recommend_for).
        by : {'lists', 'rating'}
            Ranking of the lists, as in recommend.

        Returns
        -------
        judging.Report
            Its rows(k) is a dict of means for each predictor.

        Raises
        ------
        ParameterError
            k exceeds the number of items.
        DataError
            No pair is left.

        Examples
        --------
        >>> from gpukit import MatrixFactorization, synth_ratings
        >>> train, test = synth_ratings("ml-10m", scale=0.001).split(0.1, seed=0)
        >>> model = MatrixFactorization(n_factors=4, n_epochs=3).fit(train)
        >>> [row["predictor"] for row in model.evaluate_lists(test, k=5).rows(5)]
        ['MatrixFactorization', 'popularity', 'item kNN', 'EASE']
        """
        from gpukit.factorization.answers import judging

        return judging.judge_lists({type(self).__name__: self}, X, k, baselines, given, by)

    def _row_of(self, identifier, what):
        self._check_fitted()
        known = getattr(self, f"{what}_ids_")
        row = int(self._rows_of([identifier], what)[0])
        if row == len(known):
            raise DataError(
                f"The model does not know {what} {identifier!r}; it has {len(known):,}, such as {known[0].item()!r}."
            )
        return row

    def _similar(self, what, row, n, by, with_evidence):
        from gpukit.factorization.answers import fold_in

        check_integer("n", n, 1, MOST_ANSWERS)
        check_choice("by", by, BY)
        scores, common = self._likeness(what, row, by, with_evidence)
        best = fold_in.best_places(scores, n)
        best = best[~np.isnan(scores[best])]
        result = getattr(self, f"{what}_ids_")[best], scores[best]
        return (*result, common[best], self.rating_counts()[what == "item"][best]) if with_evidence else result

    def _likeness(self, what, row, by, count=True):
        """Return (scores (rows,) float32, common (rows,)).

        Scores are NaN for rows that are not similar at all. common is None unless `count` is set.
        """
        from gpukit.factorization.answers import similarity
        from gpukit.factorization.model.state import weights_matrix

        scores, common = None, None
        if by == "evidence" or count:
            compare = similarity.item_similarity if what == "item" else similarity.user_similarity
            norms = self._prepare("norms", lambda: similarity.norms_of(self._rated, self._state))
            scores, common = compare(row, self._rated, self._state, norms)
        if by == "factors":
            factors = getattr(self._state, f"{what}_factors")
            lengths = self._prepare(f"{what} lengths", lambda: np.linalg.norm(factors, axis=1))
            scores = similarity.cosines(row, factors, lengths=lengths)
            if what == "item" and self.chosen_.get("solver") == "ease":
                scores = weights_matrix(self._state)[[row]].sum(axis=0)
        scores = np.where(scores == 0 if by == "factors" else common == 0, np.float32(np.nan), scores)
        scores[row] = np.nan
        return scores, common

    def recommend_for(
        self,
        X: RatingsLike | Mapping[Any, float],
        y: ArrayLike | None = None,
        n: int = 10,
        exclude_seen: ExcludeSeen = True,
        duplicates: Rule = "last",
        *,
        by: RankedBy = "lists",
        filters: Filters | None = None,
        unknown: Literal["error", "skip"] = "error",
    ) -> tuple[Ids, Ids, Float32]:
        """Return the best items for users with these ratings, whom the model need not know.

        The model is not changed: factors (by 'rating' also the bias) are solved for with the items' parameters fixed,
        and the neighbourhood's terms are of these ratings. The model's own data on these users are not used. In a model
        of clicks, users without any get popular items.

        Parameters
        ----------
        X : Ratings, matrix, DataFrame, pairs, dict, list, set or (n,) array
            Ratings as in fit. For one user also {item: rating}, or for clicks a list, set or array of items; the
            user's id is then 0.
        y : (n,) or None
            Ratings of the pairs X.
        n : int
            Items per user, default 10.
        exclude_seen : bool
            Exclude the items of these ratings.
        duplicates : {'last', 'mean', 'error'}
            Rule for repeated pairs, as in partial_fit.
        by, filters
            As in recommend.
        unknown : {'error', 'skip'}
            DataError for unknown items, or ignore their ratings.

        Returns
        -------
        users : (B,) int64 or str
        items : (B, n) int64 or str
            Best first; scores and missing values as in recommend.
        scores : (B, n) float32

        Raises
        ------
        ParameterError
            n, by or filters is invalid.
        DataError
            An item is unknown, a rating is outside scale_, or a count is negative.

        Examples
        --------
        >>> from gpukit import MatrixFactorization, synth_ratings
        >>> model = MatrixFactorization(n_factors=4, n_epochs=3).fit(synth_ratings("ml-10m", scale=0.001))
        >>> users, items, scores = model.recommend_for({1: 5.0, 2: 3.5}, n=3)
        >>> items.shape
        (1, 3)
        """
        from gpukit.factorization.answers import fold_in

        self._check_fitted()
        ratings = fold_in.read_user_ratings(X, y, duplicates, bounds_of(self))
        tiles = list(self.recommend_for_batches(ratings, n, exclude_seen, by=by, filters=filters, unknown=unknown))
        return tuple(np.concatenate(column) for column in zip(*tiles))

    def recommend_for_batches(
        self,
        ratings: RatingsLike,
        n: int = 10,
        exclude_seen: ExcludeSeen = True,
        *,
        by: RankedBy = "lists",
        filters: Filters | None = None,
        unknown: Literal["error", "skip"] = "error",
    ) -> Iterator[tuple[Ids, Ids, Float32]]:
        """Generate the results of recommend_for, one user at a time.

        Parameters
        ----------
        ratings : Ratings, matrix or DataFrame
            Ratings of the users, as in fit.
        n, exclude_seen, by, filters, unknown
            As in recommend_for.

        Yields
        ------
        users : (1,)
        items : (1, n)
        scores : (1, n) float32

        Raises
        ------
        ParameterError, DataError
            As in recommend_for.

        Examples
        --------
        >>> from gpukit import MatrixFactorization, as_ratings, synth_ratings
        >>> model = MatrixFactorization(n_factors=4, n_epochs=3).fit(synth_ratings("ml-10m", scale=0.001))
        >>> ratings = as_ratings(([1, 1, 2], [5, 6, 5], [4.0, 3.5, 5.0]))
        >>> [items.shape for users, items, scores in model.recommend_for_batches(ratings, n=3)]
        [(1, 3), (1, 3)]
        """
        from gpukit.factorization.answers import fold_in

        self._check_fitted()
        ratings, request = ratings_of(ratings), self._request(n, exclude_seen, by, filters)
        score = self._scorer(request.ranking)
        learned = self._as_learned(ratings)
        known_rows(self, learned.item_ids[np.unique(learned.items)], "item", unknown, "skip")
        known = self.item_ids_, self._order_of("item")
        hides_low = self.feedback_ == "implicit" and request.hide is True
        below = ratings_below(ratings, self.positive_from) if hides_low else None
        rated = None if below is None else rows_of(below.item_ids, known[0], "item", known[1])[below.items]
        for user, user_ratings in fold_in.iterate_users(learned, *known, self._scale, np.unique(ratings.users)):
            scores = score(user_ratings) + request.worth
            if below is not None:
                scores[rated[(below.users == user) & (rated >= 0)]] = np.nan
            pools = fold_in.rank_items(scores, user_ratings, request.pool, request.hide)
            yield (ratings.user_ids[user : user + 1], *self._named(*self._listed(*pools, request), request, n))

    def _scorer(self, ranking):
        """Return the function from fold_in.UserRatings to scores (N,) of all items by a Ranking."""
        if ranking.head is not None:
            from gpukit.factorization.lists.head import folding

            return self._prepare("scorer of lists", lambda: folding(ranking.head, ranking.state))
        if self.feedback_ == "implicit":
            from gpukit.factorization.answers.fold_in import scorer

            return self._prepare("scorer", lambda: scorer(self))
        from gpukit.factorization.answers import fold_in

        state, prior = self._state, fold_in.prior_of(self)
        return lambda ratings: fold_in.predict_scores(state, ratings, fold_in.fit_user(state, ratings, prior))


def counts_of(history, n_users, n_items):
    """Return the ratings of each user (n_users,) and item (n_items,), int64, in a History on the host."""
    from gpukit.ratings.orders.compressed import count_each

    return np.diff(history.indptr)[:n_users], count_each(history.items, n_items)
