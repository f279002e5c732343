"""Table of ratings: (user, item, rating) triples with maps to external ids."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from gpukit._pool import map_row_blocks
from gpukit.errors import DataError, ParameterError
from gpukit.evaluation import splits

if TYPE_CHECKING:
    from gpukit.typing import Float32, Int32, Int64

# Validation state: unchecked; sound (see check.py); sound and without repeated pairs.
UNCHECKED, SOUND, DISTINCT = range(3)
OPTIONAL = ("times", "weights", "counts")
By = Literal["random", "time", "user-time"]  # kinds of folds and splits
Split = Literal[By, "user-last", "user-one", "users"]  # kinds for Ratings.split
BY, SPLITS = get_args(By), get_args(Split)


@dataclass(frozen=True)
class Ratings:
    """n ratings of M users and N items, in input order.

    A table made by hand is validated once, on first use (`gpukit.ratings.repeats.validate`). Do not change its arrays
    afterwards. An explicit rating of 0 is a rating.

    `merged` is the number of ratings that reading removed or summed because their pair is repeated.

    Parameters
    ----------
    users, items : (n,) int32
        Row numbers.
    values : (n,) float32
        Ratings.
    user_ids, item_ids : (M,), (N,) int64 or str
        Ids of the rows.
    times : (n,) int64 or None
        Seconds since 1970-01-01 UTC.
    weights : (n,) float32 or None
        Weights of the ratings, >= 0.
    counts : (n,) int32 or float32 or None
        Number of purchases, plays, ..., >= 0.

    Examples
    --------
    >>> import numpy as np
    >>> from gpukit import Ratings
    >>> users, items = np.array([0, 0, 1], np.int32), np.array([0, 1, 0], np.int32)
    >>> Ratings(users, items, np.array([5, 3, 4], np.float32), user_ids=np.array([7, 9]), item_ids=np.array([1, 2]))
    Ratings(3 ratings, 2 users, 2 items)
    """

    users: np.ndarray
    items: np.ndarray
    values: np.ndarray
    user_ids: np.ndarray
    item_ids: np.ndarray
    times: np.ndarray | None = None
    weights: np.ndarray | None = None
    counts: np.ndarray | None = None
    merged: int = field(default=0, init=False, repr=False, compare=False)
    _state: int = field(default=UNCHECKED, init=False, repr=False, compare=False)

    def __len__(self) -> int:
        return np.size(self.values)

    def __repr__(self):
        also = "".join(f", {name}" for name in list(self.columns())[3:])
        return f"Ratings({len(self):,} ratings, {self.shape[0]:,} users, {self.shape[1]:,} items{also})"

    @property
    def shape(self) -> tuple[int, int]:
        """(M, N): users and items, including those without ratings."""
        return np.size(self.user_ids), np.size(self.item_ids)

    @functools.cached_property
    def scale(self) -> tuple[float, float]:
        """(lowest, highest) rating as floats; DataError without ratings."""
        if not len(self):
            raise DataError("There are no ratings, so they have no lowest and highest value.")
        values = self.values
        ends = map_row_blocks(lambda rows: (values[rows].min(), values[rows].max()), (len(values), 1))
        return float(min(low for low, _ in ends)), float(max(high for _, high in ends))

    @property
    def nbytes(self) -> int:
        """Bytes of the columns.

        12 per rating, 8 more with times, 4 with weights, 4 with counts.
        """
        return sum(column.nbytes for column in self.columns().values())

    def first_values(self, count):
        """Return the first `count` values, or fewer."""
        return self.values[:count]

    def columns(self) -> dict[str, np.ndarray]:
        """Return the arrays of the triples and of the present optional columns.

        Returns
        -------
        dict
            {name: (n,) array}.

        Examples
        --------
        >>> from gpukit import as_ratings
        >>> ratings = as_ratings(([7, 7, 9], [1, 2, 1], [5.0, 3.0, 4.0]))
        >>> list(ratings.columns())
        ['users', 'items', 'values']
        """
        names = (entry.name for entry in fields(self) if entry.init and not entry.name.endswith("_ids"))
        return {name: column for name in names if (column := getattr(self, name)) is not None}

    def with_columns(self, **columns: np.ndarray) -> Ratings:
        """Return Ratings of these columns with the same id maps.

        Parameters
        ----------
        **columns
            (n,) arrays by name; columns that are not named are left out.

        Returns
        -------
        Ratings

        Examples
        --------
        >>> from gpukit import as_ratings
        >>> ratings = as_ratings(([7, 7, 9], [1, 2, 1], [5.0, 3.0, 4.0]))
        >>> columns = ratings.columns()
        >>> ratings.with_columns(**{**columns, "values": columns["values"] / 5}).scale
        (0.6000000238418579, 1.0)
        """
        return Ratings(**columns, user_ids=self.user_ids, item_ids=self.item_ids)

    def take(self, which: np.ndarray | slice) -> Ratings:
        """Return a part of the ratings, with the same ids.

        Parameters
        ----------
        which : (n,) bool, (k,) int or slice
            Mask, or positions.

        Returns
        -------
        Ratings

        Examples
        --------
        >>> from gpukit import as_ratings
        >>> ratings = as_ratings(([7, 7, 9], [1, 2, 1], [5.0, 3.0, 4.0]))
        >>> ratings.take(ratings.values >= 4)
        Ratings(2 ratings, 2 users, 2 items)
        """
        is_mask = not isinstance(which, slice) and np.asarray(which).dtype == bool
        if is_mask:
            columns = splits.rows_where(self.columns(), np.asarray(which))
        else:
            columns = {name: column[which] for name, column in self.columns().items()}
        once = is_mask or isinstance(which, slice)  # indices may name a rating twice
        return set_state(self.with_columns(**columns), min(self._state, DISTINCT if once else SOUND))

    def split(self, fraction: float = 0.1, seed: int = 0, by: Split = "random") -> tuple[Ratings, Ratings]:
        """Split into training and test ratings, each in input order.

        Parameters
        ----------
        fraction : float
            Fraction of the test set, default 0.1.
        seed : int
        by : {'random', 'time', 'user-time', 'user-last', 'user-one', 'users'}
            'random': a rating is for training where numpy.random.default_rng(seed).random(n) >= fraction. 'time': the
            last `fraction` of all ratings are the test set. 'user-time': the last `fraction` of each user's ratings,
            rounded, but never all of them. 'user-last', 'user-one': the last, or a random, rating of each user with
            several (fraction is ignored). 'users': all ratings of random users, drawn as ratings are for 'random'.
            Equal times keep input order.

        Returns
        -------
        train, test : Ratings
            With the same id maps.

        Raises
        ------
        ParameterError
        DataError
            Times are needed and missing.

        Examples
        --------
        >>> from gpukit import synth_ratings
        >>> train, test = synth_ratings("ml-10m", scale=0.001).split(0.1, seed=0)
        >>> len(train) > 8 * len(test)
        True
        """
        if not 0 <= fraction < 1:
            raise ParameterError(f"fraction must be at least 0 and less than 1; got {fraction!r}.")
        if by not in SPLITS:
            raise ParameterError(f"by must be one of {', '.join(map(repr, SPLITS))}; got {by!r}.")
        if by == "random":
            return self.parted(splits.random_mask(len(self), fraction, seed))
        if by == "users":
            return self.parted(splits.random_mask(self.shape[0], fraction, seed)[self.users])
        if by == "user-one":
            return self.parted(splits.mask_before_one(*self.ranks_by_chance(seed)))
        if by == "user-last":
            return self.parted(splits.mask_before_one(*self.ranks_in_time("user-time")))
        return self.parted(splits.mask_before_last(*self.ranks_in_time(by), fraction))

    def ranks_by_chance(self, seed=0):
        """Return (rank (n,) int64, size (n,)) of each rating in its user's random order."""
        return splits.ranks_in_time(np.random.default_rng(seed).random(len(self)), self.users)

    def ranks_in_time(self, by="time"):
        """Return (rank (n,) int64, size): earlier ratings of each, and their total.

        by 'time': among all ratings; 'user-time': among the same user's, with size (n,). Raises DataError without
        times.
        """
        if by not in BY[1:]:
            raise ParameterError(f"by must be one of {', '.join(map(repr, BY))}; got {by!r}.")
        if self.times is None:
            raise DataError(
                f"The ratings have no times, so they cannot be split by {by!r}. Read them with times=True from a file "
                "that has a column of times, or split at random."
            )
        return splits.ranks_in_time(self.times, self.users if by == "user-time" else None)

    def parted(self, kept: np.ndarray) -> tuple[Ratings, Ratings]:
        """Return (ratings where kept (n,) bool is True, the others), in order.

        Both have the same id maps.
        """
        state = min(self._state, DISTINCT)
        kept, others = (self.with_columns(**part) for part in splits.part_columns(self.columns(), np.asarray(kept)))
        return set_state(kept, state), set_state(others, state)

    def csr(self) -> tuple[Int64, Int32, Float32]:
        """Return the ratings as compressed rows of users.

        Returns
        -------
        indptr : (M + 1,) int64
        indices : (n,) int32
            Items, ascending in each row.
        values : (n,) float32

        Examples
        --------
        >>> from gpukit import as_ratings
        >>> ratings = as_ratings(([7, 7, 9], [1, 2, 1], [5.0, 3.0, 4.0]))
        >>> indptr, indices, values = ratings.csr()
        >>> indptr, indices
        (array([0, 2, 3]), array([0, 1, 0], dtype=int32))
        """
        from gpukit.ratings.orders.compressed import compress_rows

        return compress_rows(self.users, self.items, self.values, self.shape)

    def csc(self) -> tuple[Int64, Int32, Float32]:
        """Return the ratings as compressed columns of items.

        Returns
        -------
        indptr : (N + 1,) int64
        indices : (n,) int32
            Users, ascending in each column.
        values : (n,) float32

        Examples
        --------
        >>> from gpukit import as_ratings
        >>> ratings = as_ratings(([7, 7, 9], [1, 2, 1], [5.0, 3.0, 4.0]))
        >>> indptr, indices, values = ratings.csc()
        >>> indptr, indices
        (array([0, 2, 3]), array([0, 1, 0], dtype=int32))
        """
        from gpukit.ratings.orders.compressed import compress_rows

        return compress_rows(self.items, self.users, self.values, self.shape[::-1])


def as_counts(column):
    """Return counts (n,) as int32 if all are such whole numbers, else float32."""
    whole = (column == np.floor(column)).all() and (np.abs(column) < 2**31).all()
    return column.astype(np.int32 if whole else np.float32)


def set_state(ratings, state, n_merged=0):
    """Set the state of ratings and add `n_merged`; return them.

    state: UNCHECKED, SOUND or DISTINCT.
    """
    object.__setattr__(ratings, "_state", state)
    object.__setattr__(ratings, "merged", ratings.merged + n_merged)
    return ratings


def without_times(ratings):
    """Return Ratings without times, in the same state."""
    if ratings.times is None:
        return ratings
    columns = {name: column for name, column in ratings.columns().items() if name != "times"}
    return set_state(ratings.with_columns(**columns), ratings._state, ratings.merged)
