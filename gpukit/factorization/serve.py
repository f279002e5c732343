"""What a fitted model does: predictions, recommendations, similar items, files. Shared by both estimators."""

import numpy as np

from gpukit import device as devices
from gpukit.base import Estimator, check_integer
from gpukit.errors import DataError


class Serving(Estimator):
    """A fitted State at work. A subclass has `walk`, the side that its sessions walk, and `device`."""

    def set_fitted(self, state, rated, scale, user_ids, item_ids):
        """Keep the result of a training or of a model file."""
        self.state_, self.rated_, self.z_scale_ = state, rated, scale
        self.user_ids_, self.item_ids_ = user_ids, item_ids
        self.mean_, self.scale_ = scale.mean, (scale.low, scale.high)
        self.neighbors_ = state.neighbors
        self.n_features_in_ = len(item_ids)
        self._serving = None

    def _session(self):
        """The fitted State at work on the device, made when first needed."""
        self._check_fitted("state_")
        device = devices.resolve(self.device)
        if self._serving is None or self._serving[0] != device:
            from gpukit.factorization.run import engine

            steps = engine(device)
            layout = steps.layout(self.n_factors, self.state_.neighbors.shape[1])
            self._serving = device, steps.Session(self.state_, layout, self.walk, self.rated_)
        return self._serving[1]

    def predict(self, X):
        """(n,) float32 predicted ratings, within the range of the training ratings.

        X: pairs as (users, items) of ids, an (n, 2) array of ids, a DataFrame (user and item by name, else its first
        two columns), Ratings, or a users x items matrix of which the stored entries are predicted. Unknown users and
        items are predicted from what is known of the other, or the mean.
        """
        from gpukit.factorization import run
        from gpukit.factorization.prepare import query_of

        session = self._session()
        users, items = self._pairs(X)
        asked = session.ask(users, items, query_of(users, items, len(self.user_ids_)))
        return run.unscale(session.predict(asked), self.z_scale_)

    def _pairs(self, X):
        """(user rows, item rows) int32 of what predict takes; the row behind the last for unknown ids."""
        from gpukit.ratings import Ratings, as_ratings
        from gpukit.ratings.headers import by_name

        if isinstance(X, tuple) and len(X) == 2:
            users, items = X
        elif isinstance(X, Ratings) or hasattr(X, "tocoo"):
            pairs = in_rows_of(as_ratings(X), self.user_ids_, self.item_ids_)
            return pairs.users, pairs.items
        elif hasattr(X, "iloc"):
            first, second, _ = by_name(list(X.columns), need_rating=False) or (0, 1, -1)
            users, items = X.iloc[:, first].to_numpy(), X.iloc[:, second].to_numpy()
        else:
            table = np.asarray(X)
            if table.ndim != 2 or table.shape[1] != 2:
                raise DataError(
                    "predict takes pairs: (users, items), an (n, 2) array, a DataFrame or Ratings; "
                    f"got shape {table.shape}."
                )
            users, items = table.T
        if len(users) != len(items):
            raise DataError(f"predict got {len(users)} users and {len(items)} items; pairs need as many of each.")
        return rows_or_unknown(users, self.user_ids_), rows_or_unknown(items, self.item_ids_)

    def evaluate(self, X):
        """{'rmse', 'mae'} on ratings X, as fit takes them."""
        from gpukit.evaluation import metrics
        from gpukit.ratings import as_ratings

        ratings = as_ratings(X)
        predicted = self.predict(ratings)
        return {"rmse": metrics.rmse(ratings.values, predicted), "mae": metrics.mae(ratings.values, predicted)}

    def score(self, X, y=None):
        """Minus the RMSE on ratings X: larger is better, as scikit-learn's model selection wants it."""
        return -self.evaluate(X)["rmse"]

    def recommend(self, users=None, n=10, exclude_seen=True):
        """(item ids (B, n), scores (B, n) float32) for user ids (None: all): the items with the best predictions, best
        first.

        Items that the user has rated are left out unless exclude_seen is False. Scores are predicted ratings, not
        clipped. Where fewer than n items are left the id is None and the score NaN.
        """
        tiles = list(self.recommend_batches(users, n, exclude_seen))
        if not tiles:
            return np.empty((0, n), self.item_ids_.dtype), np.empty((0, n), np.float32)
        return np.concatenate([ids for _, ids, _ in tiles]), np.concatenate([scores for _, _, scores in tiles])

    def recommend_batches(self, users=None, n=10, exclude_seen=True):
        """Generator of (user ids (b,), item ids (b, n), scores (b, n)) tiles: a million users never need all scores at
        once."""
        session = self._session()
        check_integer("n", n, 1)
        ids = self.user_ids_ if users is None else np.atleast_1d(np.asarray(users))
        rows = rows_or_unknown(ids, self.user_ids_) if users is not None else np.arange(len(ids), dtype=np.int32)
        step, fits = session.tile_users(), min(n, len(self.item_ids_))
        for first in range(0, len(ids), step):
            items, z = session.best(rows[first : first + step], fits, exclude_seen)
            yield (ids[first : first + step], *self._named(items, z, n))

    def _named(self, items, z, n):
        """Item ids and scores of rows and z, padded to n columns."""
        scores = np.full((len(items), n), np.nan, np.float32)
        scores[:, : items.shape[1]] = z * np.float32(self.z_scale_.deviation) + np.float32(self.z_scale_.mean)
        if not np.isnan(scores).any():
            return self.item_ids_[items], scores
        ids = np.full(scores.shape, None, object)
        ids[:, : items.shape[1]] = self.item_ids_[items]
        ids[np.isnan(scores)] = None
        return ids, scores

    def similar_items(self, item, n=10):
        """(item ids (m,), cosines (m,) float32), m = min(n, N - 1): the items whose factors point the same way, best
        first.

        Raises DataError for an item that the model does not know.
        """
        self._check_fitted("state_")
        check_integer("n", n, 1)
        row = int(rows_or_unknown([item], self.item_ids_)[0])
        if row == len(self.item_ids_):
            raise DataError(
                f"The model does not know item {item!r}; it has {len(self.item_ids_):,}, "
                f"such as {self.item_ids_[0].item()!r}."
            )
        factors = self.state_.item_factors
        norms = np.maximum(np.linalg.norm(factors, axis=1), np.float32(1e-20))
        cosines = factors @ factors[row] / (norms * norms[row])
        cosines[row] = -np.inf
        best = np.argsort(-cosines, kind="stable")[: min(n, len(cosines) - 1)]
        return self.item_ids_[best], cosines[best]

    def save(self, path):
        """Write the fitted model to a file (gpukit.persist: no pickle, written aside and renamed)."""
        from gpukit.factorization.model.saving import save_model

        self._check_fitted("state_")
        save_model(path, self)

    @classmethod
    def load(cls, path):
        """The fitted model in a file. Raises DataError (no file) or ModelError (not such a model, damaged, another
        format)."""
        from gpukit.factorization.model.saving import load_model

        return load_model(path, cls)


def in_rows_of(ratings, user_ids, item_ids):
    """ratings in the rows of other id maps; unknown ids get the row behind the last."""
    from gpukit.ratings import Ratings

    if ratings.user_ids is user_ids and ratings.item_ids is item_ids:
        return ratings
    users, items = rows_or_unknown(ratings.user_ids, user_ids), rows_or_unknown(ratings.item_ids, item_ids)
    return Ratings(users[ratings.users], items[ratings.items], ratings.values, user_ids, item_ids)


def rows_or_unknown(ids, known):
    """(n,) int32 rows of ids in known; len(known) where an id is unknown."""
    from gpukit.ratings.ids import rows_of

    rows = rows_of(ids, known)
    return np.where(rows < 0, np.int32(len(known)), rows).astype(np.int32)
