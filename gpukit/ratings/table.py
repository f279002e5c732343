"""The container every command works on: triples (user, item, rating) with the maps back to the user's own ids."""

from dataclasses import dataclass

import numpy as np

from gpukit.errors import DataError, ParameterError


@dataclass(frozen=True)
class Ratings:
    """n ratings of M users and N items, in the order in which they were read.

    users (n,) int32 and items (n,) int32 are row numbers; values (n,) float32; user_ids (M,) and item_ids (N,) are the
    ids that the rows stand for (int64 or str). An explicit rating of 0 is a rating.
    """

    users: np.ndarray
    items: np.ndarray
    values: np.ndarray
    user_ids: np.ndarray
    item_ids: np.ndarray

    def __len__(self):
        return len(self.values)

    def __repr__(self):
        return f"Ratings({len(self):,} ratings, {self.shape[0]:,} users, {self.shape[1]:,} items)"

    @property
    def shape(self):
        """(M, N): users and items, those without a rating included."""
        return len(self.user_ids), len(self.item_ids)

    @property
    def scale(self):
        """(lowest, highest) rating as floats; raises DataError without ratings."""
        if not len(self):
            raise DataError("There are no ratings, so they have no lowest and highest value.")
        return float(self.values.min()), float(self.values.max())

    @property
    def nbytes(self):
        """Bytes of the three arrays of triples (12 a rating)."""
        return self.users.nbytes + self.items.nbytes + self.values.nbytes

    def take(self, which):
        """The Ratings at a boolean mask (n,) or an index array, with the same id maps."""
        return Ratings(self.users[which], self.items[which], self.values[which], self.user_ids, self.item_ids)

    def split(self, fraction=0.1, seed=0):
        """(train, test): a rating is kept for training where numpy.random.default_rng(seed).random(n) >= fraction."""
        if not 0 <= fraction < 1:
            raise ParameterError(f"fraction must be at least 0 and less than 1; got {fraction!r}.")
        train = np.random.default_rng(seed).random(len(self)) >= fraction
        return self.take(train), self.take(~train)

    def csr(self):
        """(indptr (M+1,) int64, indices (n,) int32, values (n,) float32), each row's items ascending."""
        from gpukit.ratings.repeats import compressed_rows

        return compressed_rows(self.users, self.items, self.values, *self.shape)

    def csc(self):
        """(indptr (N+1,) int64, indices (n,) int32, values (n,) float32), each column's users ascending."""
        from gpukit.ratings.repeats import compressed_rows

        return compressed_rows(self.items, self.users, self.values, *self.shape[::-1])


def as_ratings(data):
    """Ratings from what people have at hand.

    data: Ratings; a scipy sparse matrix or array of users x items (explicit zeros are ratings, duplicates an error); a
    DataFrame (columns user, item, rating by name, or its first three); or a dense (M, N) float array, NaN: not rated.
    Rows of matrices get the ids 0..M-1 and 0..N-1. Raises DataError for other types, for NaN or infinite ratings and
    for repeated pairs.
    """
    if isinstance(data, Ratings):
        return data
    if hasattr(data, "tocoo"):
        ratings = _from_sparse(data)
    elif hasattr(data, "columns") and hasattr(data, "iloc"):
        ratings = _from_frame(data)
    elif isinstance(data, (np.ndarray, list, tuple)):
        ratings = _from_dense(data)
    else:
        raise DataError(
            f"Ratings cannot be made from {type(data).__name__}: give a scipy sparse matrix, a DataFrame "
            "with user, item and rating, a dense array (NaN = not rated), or what read_ratings returns."
        )
    return checked(ratings)


def checked(ratings):
    """ratings, or DataError when a value is not finite or a (user, item) pair is repeated."""
    bad = np.flatnonzero(~np.isfinite(ratings.values))
    if len(bad):
        raise DataError(
            f"Rating number {bad[0] + 1} is {ratings.values[bad[0]]}, not a finite number ({len(bad)} "
            "such). Remove those ratings first."
        )
    from gpukit.ratings.repeats import without_repeats

    return without_repeats(ratings, "error")


def _from_sparse(matrix):
    coo = matrix.tocoo()
    _check_real(coo.data)
    if coo.ndim != 2:
        raise DataError(f"A sparse matrix of users x items has two dimensions; this one has {coo.ndim}.")
    return _numbered(coo.row, coo.col, coo.data, coo.shape)


def _from_dense(array):
    _check_real(array)
    try:
        dense = np.asarray(array, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(f"The dense ratings are not numbers ({error}).") from error
    if dense.ndim != 2:
        raise DataError(f"Dense ratings must be a users x items array (NaN = not rated); got {dense.ndim}-D.")
    users, items = np.nonzero(~np.isnan(dense))
    return _numbered(users, items, dense[users, items], dense.shape)


def _check_real(values):
    if np.iscomplexobj(values):
        raise DataError("Complex data not supported: ratings are real numbers. Give the real part, say.")


def _numbered(users, items, values, shape):
    ids = (np.arange(size, dtype=np.int64) for size in shape)
    return Ratings(users.astype(np.int32), items.astype(np.int32), np.asarray(values, dtype=np.float32), *ids)


def _from_frame(frame):
    from gpukit.ratings.headers import by_name
    from gpukit.ratings.ids import factorize

    if frame.shape[1] < 3:
        raise DataError(f"The DataFrame has {frame.shape[1]} column(s); user, item and rating are needed.")
    places = by_name(list(frame.columns)) or (0, 1, 2)
    columns = [frame.iloc[:, place].to_numpy() for place in places]
    users, user_ids = factorize(columns[0], "user")
    items, item_ids = factorize(columns[1], "item")
    try:
        values = columns[2].astype(np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(f"Column {frame.columns[places[2]]!r} of the DataFrame holds no numbers ({error}).") from error
    return Ratings(users, items, values, user_ids, item_ids)
