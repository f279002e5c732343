"""The table that every recommender works on: triples (user, item, rating) with the maps back to the user's own ids."""

from dataclasses import dataclass, field, fields

import numpy as np

from gpukit.errors import DataError, ParameterError

# What is known of a table: nothing; that it is sound (see check.py); also that no pair stands in it twice.
UNCHECKED, SOUND, DISTINCT = range(3)
OPTIONAL = ("times", "weights", "counts")
BY = ("random", "time", "user-time")  # who judges: ways of folds and splits
SPLITS = (*BY, "user-last", "user-one", "users")  # ways of Ratings.split


@dataclass(frozen=True)
class Ratings:
    """n ratings of M users and N items, in the order in which they were read.

    users (n,) int32 and items (n,) int32 are row numbers; values (n,) float32; user_ids (M,) and item_ids (N,) are the
    ids that the rows stand for (int64 or str). An explicit rating of 0 is a rating. Optional, None when not known:
    times (n,) int64, seconds since 1970-01-01 UTC; weights (n,) float32, how much a rating counts; counts (n,) int32 or
    float32, how often an item was bought, heard, ... Weights and counts are 0 or more. merged: the number of ratings
    that reading left out, or added up, because their pair comes again.

    A table made by hand is checked when it is first used (`gpukit.ratings.repeats.checked`), once: do not change its
    arrays afterwards.
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

    def __len__(self):
        return np.size(self.values)

    def __repr__(self):
        also = "".join(f", {name}" for name in list(self.columns())[3:])
        return f"Ratings({len(self):,} ratings, {self.shape[0]:,} users, {self.shape[1]:,} items{also})"

    @property
    def shape(self):
        """(M, N): users and items, those without a rating included."""
        return np.size(self.user_ids), np.size(self.item_ids)

    @property
    def scale(self):
        """(lowest, highest) rating as floats; raises DataError without ratings."""
        if not len(self):
            raise DataError("There are no ratings, so they have no lowest and highest value.")
        return float(self.values.min()), float(self.values.max())

    @property
    def nbytes(self):
        """Bytes of the columns: 12 a rating, 8 more with times, 4 with weights, 4 with counts."""
        return sum(column.nbytes for column in self.columns().values())

    def first_values(self, count):
        """Up to so many of the first values."""
        return self.values[:count]

    def columns(self):
        """{name: (n,) array} of the triples and of the optional columns that are there."""
        names = (one.name for one in fields(self) if one.init and not one.name.endswith("_ids"))
        return {name: column for name in names if (column := getattr(self, name)) is not None}

    def with_columns(self, **columns):
        """Ratings of these columns with the same id maps; columns that are not named are left out."""
        return Ratings(**columns, user_ids=self.user_ids, item_ids=self.item_ids)

    def take(self, which):
        """The Ratings at a boolean mask (n,) or an index array, with the same id maps."""
        taken = self.with_columns(**{name: column[which] for name, column in self.columns().items()})
        once = isinstance(which, slice) or np.asarray(which).dtype == bool  # indices may name a rating twice
        return marked(taken, min(self._state, DISTINCT if once else SOUND))

    def split(self, fraction=0.1, seed=0, by="random"):
        """(train, test), each in the order in which it stood.

        by 'random': a rating is kept for training where numpy.random.default_rng(seed).random(n) >= fraction; 'time':
        the last `fraction` of all ratings are the test; 'user-time': the last `fraction` of each user's, rounded, and
        never all of them; 'user-last', 'user-one': one of each user who has several, the last, or one drawn (fraction
        does not count); 'users': all ratings of users that are drawn as ratings are for 'random'. Equal times count in
        the order in which they stand. DataError where times are needed and there are none.
        """
        if not 0 <= fraction < 1:
            raise ParameterError(f"fraction must be at least 0 and less than 1; got {fraction!r}.")
        if by not in SPLITS:
            raise ParameterError(f"by must be one of {', '.join(map(repr, SPLITS))}; got {by!r}.")
        from gpukit.evaluation.splits import before_last, before_one, drawn

        if by == "random":
            return self.parted(drawn(len(self), fraction, seed))
        if by == "users":
            return self.parted(drawn(self.shape[0], fraction, seed)[self.users])
        if by == "user-one":
            return self.parted(before_one(*self.ranks_by_chance(seed)))
        if by == "user-last":
            return self.parted(before_one(*self.ranks_in_time("user-time")))
        return self.parted(before_last(*self.ranks_in_time(by), fraction))

    def ranks_by_chance(self, seed=0):
        """(rank (n,) int64, size (n,)) of each rating among its user's, shuffled."""
        from gpukit.evaluation.splits import ranks_in_time

        return ranks_in_time(np.random.default_rng(seed).random(len(self)), self.users)

    def ranks_in_time(self, by="time"):
        """(rank (n,) int64, size): how many ratings are earlier than each, and how many there are: of all by 'time', of
        the same user's by 'user-time' (size is (n,) then). DataError where there are no times."""
        from gpukit.evaluation.splits import ranks_in_time

        if by not in BY[1:]:
            raise ParameterError(f"by must be one of {', '.join(map(repr, BY))}; got {by!r}.")
        if self.times is None:
            raise DataError(
                f"The ratings have no times, so they cannot be split by {by!r}. Read them with times=True from a file "
                "that has a column of times, or split at random."
            )
        return ranks_in_time(self.times, self.users if by == "user-time" else None)

    def parted(self, kept):
        """(the ratings of a mask kept (n,) bool, all others), each in their order, with the same id maps."""
        from gpukit.evaluation.splits import parted

        return tuple(marked(self.with_columns(**part), self._state) for part in parted(self.columns(), kept))

    def csr(self):
        """(indptr (M+1,) int64, indices (n,) int32, values (n,) float32), each row's items ascending."""
        from gpukit.ratings.orders.compressed import compressed_rows

        return compressed_rows(self.users, self.items, self.values, self.shape)

    def csc(self):
        """(indptr (N+1,) int64, indices (n,) int32, values (n,) float32), each column's users ascending."""
        from gpukit.ratings.orders.compressed import compressed_rows

        return compressed_rows(self.items, self.users, self.values, self.shape[::-1])


def as_counts(column):
    """Counts (n,) as int32 where all are whole numbers that it holds, else as float32."""
    whole = (column == np.floor(column)).all() and (np.abs(column) < 2**31).all()
    return column.astype(np.int32 if whole else np.float32)


def marked(ratings, state, merged=0):
    """ratings, with a note of what is known of them: UNCHECKED, SOUND or DISTINCT, and how many more were merged."""
    object.__setattr__(ratings, "_state", state)
    object.__setattr__(ratings, "merged", ratings.merged + merged)
    return ratings


def without_times(ratings):
    """Return Ratings without their times; what is known of them stays known."""
    columns = {name: column for name, column in ratings.columns().items() if name != "times"}
    return marked(ratings.with_columns(**columns), ratings._state, ratings.merged)
