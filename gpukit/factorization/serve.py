"""Predictions, evaluation, updates and files of a fitted model; shared by both estimators."""

from __future__ import annotations

import os
import threading
import warnings
from typing import TYPE_CHECKING, Literal, Self, get_args

import numpy as np

from gpukit import device as devices
from gpukit.base import Estimator, check_choice, scikit
from gpukit.base.arrays import axes
from gpukit.device.engine import engine
from gpukit.errors import DataError
from gpukit.factorization.arrays import unscale
from gpukit.factorization.implicit.feedback import check_test
from gpukit.factorization.model.layout import BASE, BIAS
from gpukit.factorization.online import inputs
from gpukit.factorization.online.inputs import bounds_of, check_options, check_ratings, locate
from gpukit.io.ids import ascending_order, check_fractions, check_types, rows_of, take_values
from gpukit.ratings import Ratings
from gpukit.ratings.adopt import adopt, as_ratings, merge_repeats, pairs_of, ratings_of
from gpukit.ratings.check import are_pairs, check_range
from gpukit.ratings.repeats import validate

if TYPE_CHECKING:
    from gpukit.factorization.online.session import Live
    from gpukit.factorization.settings import Rows
    from gpukit.ratings.repeats import Rule
    from gpukit.typing import ArrayLike, DeviceLike, Float32, Ids, IdsLike, Int32, Progress, RatingsLike

Predicted = Literal["warn", "baseline", "error"]  # values of `unknown` for pairs to predict
PREDICTED = get_args(Predicted)
_making = threading.Lock()  # of sessions: the first threads that use a model share one
os.register_at_fork(
    after_in_child=lambda: globals().update(_making=threading.Lock())
)  # a thread of the parent may hold it
MOST_ANSWERS = 1_000_000  # for a user, or an item


class Serving(Estimator):
    """A fitted State on a device.

    A subclass has `walk`, the major side of its sessions, `device`, `check`, `fit`, and the parts of `prepare`.
    """

    user_ids_: Ids
    item_ids_: Ids
    mean_: float
    scale_: tuple[float, float]
    neighbors_: Int32
    n_features_in_: int

    _fitted_by = "item_ids_"
    _facts = ("user_ids_", "item_ids_", "scale_", "mean_", "neighbors_", "feedback_", "device_")
    _transient = ("_sessions", "_prepared")

    def set_fitted(self, state, rated, scale, user_ids, item_ids):
        """Keep the result of a training or of a model file.

        state: state.State; rated: arrays.History, on the host or on the device; scale: arrays.Scale; user_ids,
        item_ids.
        """
        self._state, self._history, self._scale = state, rated, scale
        self.user_ids_, self.item_ids_ = user_ids, item_ids
        self.mean_, self.scale_ = scale.mean, (scale.low, scale.high)
        self.neighbors_ = state.neighbors
        self.n_features_in_ = len(item_ids)
        for name in (*Serving._transient, "_head"):
            vars(self).pop(name, None)

    def _prepare(self, name, make):
        """Return make(), kept under a name until the next set_fitted.

        Threads that come at once may each call make; its result must depend on the fitted model alone.
        """
        prepared = vars(self).setdefault("_prepared", {})  # the one of the model that make() reads
        if name not in prepared:
            prepared[name] = make()
        return prepared[name]

    def _rows_of(self, ids, what):
        """Return the rows (n,) int32 of 'user' or 'item' ids; the row behind the last for unknown ones."""
        return rows_or_unknown(ids, getattr(self, f"{what}_ids_"), what, self._order_of(what))

    def _order_of(self, what):
        """Return io.ids.ascending_order of the 'user' or 'item' ids."""
        return self._prepare(f"{what} order", lambda: ascending_order(getattr(self, f"{what}_ids_")))

    @property
    def user_factors_(self) -> Float32:
        """(M, F) float32, in roots of the ratings' unit."""
        return self._of_state("user_factors") * np.float32(self._scale.deviation**0.5)

    @property
    def item_factors_(self) -> Float32:
        """(N, F) float32, in roots of the ratings' unit."""
        return self._of_state("item_factors") * np.float32(self._scale.deviation**0.5)

    @property
    def user_bias_(self) -> Float32:
        """(M,) float32, in units of the ratings."""
        return self._of_state("user_extras")[:, BIAS] * np.float32(self._scale.deviation)

    @property
    def item_bias_(self) -> Float32:
        """(N,) float32, in units of the ratings."""
        return self._of_state("item_extras")[:, BIAS] * np.float32(self._scale.deviation)

    @property
    def user_baseline_(self) -> Float32:
        """(M,) float32, in units of the ratings.

        With item_baseline_ and mean_ the bias-only predictor of Eq. (1).
        """
        return self._of_state("user_extras")[:, BASE] * np.float32(self._scale.deviation)

    @property
    def item_baseline_(self) -> Float32:
        """(N,) float32, in units of the ratings; see user_baseline_."""
        return self._of_state("item_extras")[:, BASE] * np.float32(self._scale.deviation)

    @property
    def _rated(self):
        """arrays.History on the host, copied at the first access."""
        history = self._history  # read once: another thread may fetch it meanwhile
        if not all(isinstance(array, np.ndarray) for array in history):
            from gpukit.device.upload import download

            history = self._history = type(history)(*map(download, history))
        return history

    def __getstate__(self):
        if hasattr(self, "_history"):
            self._rated  # noqa: B018  (copies the history to the host)
        return super().__getstate__()

    def _of_state(self, name):
        self._check_fitted()
        return getattr(self._state, name)

    def _session(self):
        """Return the session of the fitted State on the device; cached."""
        return self._kept_session("ratings", self._make_session)

    def _kept_session(self, name, make):
        """Return the session cached under a name, made by make(device) if necessary.

        A session of another device is replaced.
        """
        self._check_fitted()
        device, sessions = devices.resolve(self.device), vars(self).setdefault("_sessions", {})
        entry = sessions.get(name)
        if entry is None or entry[0] != device:
            with _making:
                entry = sessions.get(name)  # another thread may have made it meanwhile
                if entry is None or entry[0] != device:
                    entry = sessions[name] = device, make(device)
        return entry[1]

    def _reported(self, what):
        """Return device.reported for the device of the model."""
        self._check_fitted()
        return devices.translate_memory_errors(devices.resolve(self.device), what)

    def _make_session(self, device, state=None, walk=None):
        """Return a session of a State on a Device, by default of the fitted one."""
        steps, state = engine(device, "gpukit.factorization"), state or self._state
        layout = steps.layout(state.user_factors.shape[1], state.neighbors.shape[1])
        return steps.DeviceModel(state, layout, walk or self.walk, self._history_on(device))

    def _history_on(self, device):
        """Return the History, on the fit's device or on the host."""
        return self._history if str(device) == self.device_ else self._rated

    def predict(
        self, X: RatingsLike | IdsLike, items: IdsLike | None = None, *, unknown: Predicted = "warn"
    ) -> Float32:
        """Return predicted ratings, within the range of the training ratings.

        Parameters
        ----------
        X : pairs
            (users, items) of ids, an (n, 2) array of ids, a DataFrame (user and item by name, otherwise its first two
            columns), Ratings, or a users x items matrix, whose stored entries are predicted; with items: ids of the
            users (n,).
        items : (n,) or None
            Ids of the items, one for each user: predict(users, items). A single id is an array of one.
        unknown : {'warn', 'baseline', 'error'}
            Unknown users and items are predicted from the known one of the pair, or as the mean. 'warn' counts them in
            a UserWarning, 'baseline' does not, 'error' raises DataError.

        Returns
        -------
        (n,) float32

        Raises
        ------
        DataError
            Ids are neither text nor whole numbers, or the numbers of users and items differ.

        Examples
        --------
        >>> from gpukit import MatrixFactorization, synth_ratings
        >>> model = MatrixFactorization(n_factors=4, n_epochs=3).fit(synth_ratings("ml-10m", scale=0.001))
        >>> model.predict([1, 2], [5, 6]).shape
        (2,)
        """
        return unscale(self._z_of(X, items, unknown=unknown), self._scale)

    def _z_of(self, X, items=None, session_of=None, unknown="baseline"):
        """Return predictions (n,) float32 of pairs in the units of training.

        X, items: as in predict; session_of: function that returns the session.
        """
        check_choice("unknown", unknown, PREDICTED)
        with self._reported("Predicting"):
            session = (session_of or self._session)()
            if items is not None:
                X = tuple(value if axes(value) else np.atleast_1d(value) for value in (X, items))
            users, items = self._pairs(X)
            report_unknown(users, items, (len(self.user_ids_), len(self.item_ids_)), unknown, stacklevel=3)
            predicted = np.empty(len(users), np.float32)
            step = session.pairs_at_once()
            for first in range(0, len(users), step):
                part = slice(first, first + step)
                predicted[part] = session.predict(session.ask(users[part], items[part]))
        return predicted

    def _pairs(self, X):
        """Return (user rows, item rows) int32 of pairs as predict takes them.

        Unknown ids have the row behind the last.
        """
        return pairs_in_rows(X, self.user_ids_, self.item_ids_, self._rows_of)

    def evaluate(self, X: RatingsLike, y: ArrayLike | None = None) -> dict[str, float]:
        """Return {'rmse', 'mae'} on ratings X, or ratings y of pairs X.

        X and y are as in fit.
        """
        from gpukit.factorization.run import ask_in_parts, sum_errors

        with self._reported("Judging"):
            session, ratings = self._session(), ratings_of(X, y)
            check_test("explicit", ratings)
            pairs = in_rows_of(ratings, self.user_ids_, self.item_ids_)
            if not len(pairs):
                raise DataError("There are no ratings to judge by: 0 rows.")
            squares, sizes = sum_errors(session, ask_in_parts(session, pairs), self._scale)
        return {"rmse": float(np.sqrt(squares / len(pairs))), "mae": sizes / len(pairs)}

    def evaluate_sequentially(self, X: RatingsLike, y: ArrayLike | None = None) -> list[dict]:
        """Predict each rating of a user from the earlier ones, and learn it then, as a service does.

        Users may be unknown to the model. Their parameters follow from the ratings so far with the items' parameters
        fixed, as in recommend_for; the model is not changed.

        Parameters
        ----------
        X, y : ratings as in fit; by their times if X has them, else in the given order

        Returns
        -------
        list of dict, for all ratings and for ratings with 0, 1 to 4, ... earlier ones of the same user
            Keys: earlier, ratings (number), rmse and mae of the model, biases_rmse and biases_mae of the mean with
            damped biases of user and item, that of the user from the same ratings.

        Raises
        ------
        DataError
            For data without ratings, ratings outside the scale, and for a model of clicks.

        Examples
        --------
        >>> from gpukit import MatrixFactorization, synth_ratings
        >>> ratings = synth_ratings("ml-10m", scale=0.001)
        >>> model = MatrixFactorization(n_factors=4, n_epochs=3).fit(ratings)
        >>> model.evaluate_sequentially(ratings.take(slice(0, 100)))[0]["ratings"]
        100
        """
        return self._sequential(X, y)[1]

    def _sequential(self, X, y=None):
        """Return (answers.fold_in.Sequential, its rows, Ratings of X and y); see evaluate_sequentially."""
        from gpukit.factorization.answers.fold_in import predict_sequentially

        self._check_fitted()
        if self.feedback_ == "implicit":
            raise DataError(
                "A model of clicks predicts no ratings, so ratings cannot be predicted one after the other."
            )
        table = adopt(X, y)
        ratings = validate(merge_repeats(table, table, stacklevel=3))  # which keeps the times
        if not len(ratings):
            raise DataError("There are no ratings to judge by: 0 rows.")
        check_ratings(ratings, self._scale)
        check_range(ratings.values, bounds_of(self), lambda row: locate(ratings, row))
        users, items = rows_or_unknown(ratings.user_ids, self.user_ids_), self._rows_of(ratings.item_ids, "item")
        is_new = users == len(self.user_ids_)
        users[is_new] += np.arange(is_new.sum(), dtype=np.int32)
        rows = users[ratings.users], items[ratings.items]
        result = predict_sequentially(self, ratings, *rows)
        return result, result.rows(ratings.values), ratings

    def partial_fit(
        self,
        X: RatingsLike,
        y: ArrayLike | None = None,
        *,
        rows: Rows = "move",
        hashes: str = "recount",
        duplicates: Rule = "last",
        replay: float | None = None,
        widen_scale: bool = False,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from new ratings of known and new users and items; the first call fits.

        New ids are appended to user_ids_ and item_ids_; old rows keep their numbers. Ratings that the model has with
        the same value are ignored, unless duplicates='error'. The ratings' mean and deviation stay those of fit. With
        rows='move' a model of ratings is retrained on all of them when they have grown by a twenty-fifth since the last
        training, unless that had weights; rows is 'anew' in updates_ then. In a model of clicks a rating below
        positive_from withdraws the click of its pair; new users and items with such ratings alone are added too.

        Parameters
        ----------
        X : Ratings, matrix, DataFrame, or pairs
            As in fit.
        y : (n,) or None
            Ratings of the pairs X.
        rows : {'move', 'frozen'}
            'move' trains all rows of the new ratings on these. 'frozen' leaves rows with earlier ratings bit-identical
            (the paper's Algorithm 4); ratings of known users for known items only enter the history.
        duplicates : {'last', 'mean', 'error'}
            Rule for repeated pairs and pairs in the history; 'last' is the new rating.
        widen_scale : bool
            Accept ratings outside scale_, which widens to them; negative counts are then not clicks.
        hashes, replay
            Deprecated: they have no effect.
        progress : callable or None
            As in fit.

        Returns
        -------
        self
            updates_ has one more dict: ratings, corrected, users, items (numbers of new ones), rows, walked (ratings
            times epochs), settled (ratings at the last training on all of them), seconds by stage.

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
        if hashes != "recount" or replay is not None:
            warnings.warn("hashes= and replay= are deprecated and have no effect.", FutureWarning, stacklevel=2)
        options = check_options(rows, duplicates, widen_scale)
        if not hasattr(self, self._fitted_by):
            ratings = merge_repeats(adopt(X, y), X, options.duplicates, timed=False, stacklevel=2)
            return self.fit(ratings, progress=progress)
        self.check()
        ratings, low = inputs.read_batch(X, y, options, self)
        arguments = ratings, options, progress or (lambda *news: None)
        if self.feedback_ == "implicit":
            from gpukit.factorization.implicit.update import update_clicks

            update_clicks(self, *arguments, low)
        else:
            from gpukit.factorization.online.run import update_model

            update_model(self, *arguments)
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

        Examples
        --------
        >>> from gpukit import MatrixFactorization, synth_ratings
        >>> model = MatrixFactorization(n_factors=4, n_epochs=3).fit(synth_ratings("ml-10m", scale=0.001))
        >>> live = model.live("cpu")
        >>> type(live).__name__
        'Live'
        """
        from gpukit.factorization.online.session import Live

        self._check_fitted()
        return Live(self, self.device if device is None else device)

    def _as_learned(self, ratings, widen_scale=False):
        """Return Ratings as this model learns them: of clicks, their weights; none if all are below positive_from.

        Raises DataError for clicks in a model of ratings and, unless widen_scale, for another scale.
        """
        if self.feedback_ == "implicit":
            from gpukit.factorization.implicit.update import weights_of

            is_rated = self.positive_from is not None and not are_pairs(ratings)
            is_low = is_rated and (ratings.values < self.positive_from).all()
            return ratings.take(slice(0)) if is_low else weights_of(self, ratings)
        return inputs.check_ratings(ratings, self._scale, 0 if widen_scale else len(self._rated.items))

    def _packed(self):
        from gpukit.factorization.model import saving

        return saving.pack_model(self)

    def _unpack(self, facts, arrays):
        from gpukit.factorization.model import saving

        saving.unpack(self, facts, arrays)

    def __sklearn_tags__(self):
        """Return scikit-learn's tags: real-valued ratings, y is optional."""
        return scikit.regressor(super().__sklearn_tags__())


def in_rows_of(ratings, user_ids, item_ids):
    """Return ratings in the rows of other id maps.

    Unknown ids have the row behind the last.
    """
    if ratings.user_ids is user_ids and ratings.item_ids is item_ids:
        return ratings
    users, items = rows_or_unknown(ratings.user_ids, user_ids), rows_or_unknown(ratings.item_ids, item_ids)
    rows = take_values(users, ratings.users), take_values(items, ratings.items)
    return Ratings(*rows, ratings.values, user_ids, item_ids)


def pairs_in_rows(X, user_ids, item_ids, find_rows):
    """Return (user rows, item rows) int32 of pairs as predict takes them; find_rows(ids, 'user' or 'item')."""
    if isinstance(X, Ratings) or hasattr(X, "tocoo"):
        pairs = in_rows_of(as_ratings(X), user_ids, item_ids)
        return pairs.users, pairs.items
    users, items = pairs_of(X)
    return find_rows(users, "user"), find_rows(items, "item")


def rows_or_unknown(ids, known, what="user", order=None):
    """Return the rows (n,) int32 of ids in `known`.

    order: as in io.ids.rows_of. The row of an unknown id is len(known). Raises DataError for values that are not ids.
    """
    check_types(ids, what)
    rows = rows_of(ids, known, what, order)
    if np.asarray(known).dtype.kind in "iu":
        check_fractions(ids, rows, what)
    return np.where(rows < 0, np.int32(len(known)), rows).astype(np.int32)


def refuse_unknown(ids, rows, count, what, advice):
    """Raise DataError that names the first unknown ids, if any.

    rows: of ids, `count` for an unknown one; advice: what the user can pass instead.
    """
    strange = rows == count
    if strange.any():
        ids = np.atleast_1d(np.asarray(ids))
        names = first_names(ids[strange], ", ...")
        raise DataError(f"The model does not know {strange.sum():,} of {len(ids):,} {what}s ({names}). {advice}")


def first_names(ids, rest=""):
    """Return the first few ids for a message; rest: is appended if there are more."""
    most = 5
    return ", ".join(f"{value!r:.80}" for value in ids[:most].tolist()) + rest * (len(ids) > most)


def known_rows(model, ids, what, unknown, fallback):
    """Return the rows of ids in a model; raise DataError for an unknown id if unknown is 'error'.

    what: 'user' or 'item'; fallback: the other value of `unknown`.
    """
    check_choice("unknown", unknown, ("error", fallback))
    rows = model._rows_of(ids, what)
    if unknown == "error":
        count = len(getattr(model, f"{what}_ids_"))
        refuse_unknown(ids, rows, count, what, f"Pass unknown={fallback!r} to go on with them.")
    return rows


def report_unknown(users, items, shape, unknown, stacklevel):
    """Warn of pairs with unknown ids, or raise DataError.

    users, items (n,): rows; unknown: a value of PREDICTED.
    """
    no_user, no_item = (int((rows == count).sum()) for rows, count in zip((users, items), shape))
    if unknown == "baseline" or not (no_user or no_item):
        return
    line = f"Of {len(users):,} pairs, {no_user:,} have a user and {no_item:,} an item that the model does not know"
    if unknown == "error":
        raise DataError(f"{line}. Leave them out, or pass unknown='baseline' to predict them from what is known.")
    warnings.warn(
        f"{line}; those are predicted from what is known. unknown='baseline' says nothing of it, 'error' refuses them.",
        stacklevel=stacklevel + 1,
    )
