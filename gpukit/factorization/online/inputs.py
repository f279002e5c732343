"""Options of an update and new ratings, validated and in the rows of the grown model; entries of `updates_`."""

import math
from typing import NamedTuple

import numpy as np

from gpukit import persist
from gpukit.base import check_choice
from gpukit.base.arrays import as_text
from gpukit.errors import DataError, ParameterError
from gpukit.factorization.constants import RULES
from gpukit.factorization.settings import RETRAINED, ROWS, check
from gpukit.factorization.solvers import solver_defaults
from gpukit.io import trust
from gpukit.io.ids import rows_of
from gpukit.ratings import repeats
from gpukit.ratings.adopt import adopt, merge_repeats, normalize_weights
from gpukit.ratings.check import SOUND, are_pairs, check_range, misshapen, ratings_below
from gpukit.ratings.table import Ratings


class NewRatings(NamedTuple):
    """n new ratings.

    users, items (n,) int32: rows of the grown model; values (n,) float32; columns are on the host or on the device;
    user_ids, item_ids: the model's, then the new ones.
    """

    users: np.ndarray
    items: np.ndarray
    values: np.ndarray
    user_ids: np.ndarray
    item_ids: np.ndarray

    def __len__(self):
        return self.values.shape[0]

    @property
    def shape(self):
        """Number of users and items of the grown model, (M, N)."""
        return len(self.user_ids), len(self.item_ids)


def read_batch(X, y, options, model):
    """Return (the validated Ratings of fit's arguments (X, y) as a fitted model learns them, each pair once; low).

    low: those below positive_from, which are not learned, or None.
    options: Options. Raises DataError, ParameterError.
    """
    ratings = adopt(X, y)
    if not (options.widen_scale or are_pairs(ratings)):
        check_range(ratings.values, bounds_of(model), lambda row: locate(ratings, row))
    ratings = require_unweighted(merge_repeats(ratings, X, options.duplicates, timed=False, stacklevel=4))
    low = ratings_below(ratings, model.positive_from) if model.feedback_ == "implicit" else None
    ratings = model._as_learned(ratings, options.widen_scale)
    check_near(ratings.values, model._scale)
    return ratings, low


def read_unchecked(X, y, known, scale):
    """Return the Ratings of fit's arguments (X, y) with fewer checks, and possibly repeated pairs.

    A device checks the range of the rows of Ratings whose ids begin with the known ones, and finds values that are not
    levels: checks on the host took longer than the transfer. Other data are validated, except for the scale.
    """
    if y is None and isinstance(X, Ratings) and X.weights is None and len(X) and is_well_formed(X, known):
        return check_ratings(X, scale)
    return check_ratings(require_unweighted(adopt(X, y)), scale)


def is_well_formed(ratings, known):
    """Return True if the columns of Ratings agree and their ids begin with the known ones; False: check them all."""
    ids, is_checked = (ratings.user_ids, ratings.item_ids), ratings._state >= SOUND
    if not is_checked and (misshapen(ratings) or not all(isinstance(side, np.ndarray) for side in ids)):
        return False
    return all(map(begins_with, ids, known)) and (is_checked or all(map(has_unique_new_ids, ids, known)))


def in_rows(ratings, known, steps, lookups=(rows_of, rows_of)):
    """Return the NewRatings of Ratings in the rows of a model with known (user ids, item ids), columns on the device.

    None for a row out of range. lookups: functions like rows_of, for users and for items. Raises DataError.
    """
    users = extend_ids(ratings.users, ratings.user_ids, known[0], "user", steps, lookups[0])
    items = extend_ids(ratings.items, ratings.item_ids, known[1], "item", steps, lookups[1])
    if users is None or items is None:
        return None
    return NewRatings(users[0], items[0], steps.resident(ratings.values, np.float32), users[1], items[1])


def bounds_of(model):
    """Return the (low, high) that a model's new ratings must be within: its scale, or 0 and up for counts.

    None for a model of clicks that are ratings of positive_from or more.
    """
    if model.feedback_ == "explicit":
        return model.scale_
    return (0.0, np.inf) if model.positive_from is None else None


def locate(ratings, row):
    """Name a row of Ratings, with its user and item."""
    user, item = ratings.user_ids[ratings.users[row]], ratings.item_ids[ratings.items[row]]
    return f"Row {row + 1:,} (user {user}, item {item})"


def check_ratings(ratings, scale, known=0):
    """Return Ratings; raise DataError for clicks and for ratings of another scale.

    Clicks have the value 1 and would count as the worst ratings. known: number of ratings that the model has learned; 0
    skips the check of the scale.
    """
    if scale.low < scale.high and are_pairs(ratings):
        raise DataError(
            f"There are pairs without ratings, and the model is of ratings from {scale.low:g} to {scale.high:g}. Name "
            "the column of ratings, or train a model of clicks."
        )
    if known >= RULES.least_known:
        check_scale(ratings.values, scale)
    return ratings


def check_scale(values, scale):
    """Raise DataError if most of at least least_new values are outside the range of the model's ratings.

    Few ratings of the same scale are. Predictions of a model widened to them would be in the wider range, too.
    """
    beyond = np.count_nonzero((values < scale.low) | (values > scale.high))
    if len(values) >= RULES.least_new and 2 * beyond > len(values) and scale.low < scale.high:
        raise DataError(
            f"{beyond:,} of {len(values):,} ratings ({values.min():g} to {values.max():g}) are outside the range of "
            f"the model's ratings ({scale.low:g} to {scale.high:g}). Convert them to that scale, or train again with "
            "them."
        )


def require_unweighted(ratings):
    """Return Ratings without those of weight 0; raise ParameterError for other weights."""
    ratings = normalize_weights(ratings)
    if ratings.weights is not None:
        raise ParameterError("An update takes no weights: the ratings learned before have none. Leave the column out.")
    return ratings


def check_near(values, scale):
    """Raise DataError for a rating more than most_deviations from the mean of the model's ratings."""
    distance = np.abs(values.astype(np.float64) - scale.mean) / scale.deviation
    if len(distance) and distance.max() > RULES.most_deviations:
        raise DataError(
            f"A rating of {values[distance.argmax()]:g} is {distance.max():.3g} standard deviations from the mean of "
            f"the model's ratings ({scale.low:g} to {scale.high:g}). Correct it, or train again with it."
        )


class IdLookup:
    """gpukit.io.ids.rows_of for known ids that only grow; whole numbers are kept in a dict.

    The dict is filled on first use and extended by the ids added since. More ids than the known ones are found by a
    hash table of their own.
    """

    def __init__(self):
        self._rows = {}

    def __call__(self, ids, known, what="user"):
        """Return the rows (n,) int32 of ids in the array `known`, -1 for unknown ids; raises as rows_of."""
        if ids.dtype.kind not in "iu" or known.dtype.kind not in "iu":
            return rows_of(ids, known, what)
        if len(ids) > len(known):
            import pyarrow
            from pyarrow import compute

            sides = (pyarrow.array(side.astype(np.int64, copy=False)) for side in (ids, known))
            return compute.index_in(*sides).fill_null(-1).to_numpy().copy()  # writable
        count = len(self._rows)
        self._rows.update(zip(known[count:].tolist(), range(count, len(known))))
        return np.fromiter((self._rows.get(value, -1) for value in ids.tolist()), np.int32, len(ids))


def extend_ids(rows, ids, known, what, steps, find=rows_of):
    """Return (rows (n,) int32 on the device in the extended ids, extended ids); None for a row out of range.

    rows (n,) int32: numbers of ids, on the host; the extended ids are the known ones, then the new ones that occur in
    rows; find: function like rows_of. Whole numbers match ids that are text, and vice versa. Raises DataError for a new
    id of another kind than the known ones.
    """
    rows = steps.resident(rows, np.int32)
    if begins_with(ids, known):
        return append_ids(rows, ids, len(known), steps)
    names, seen = find(ids, known, what), find_occurring(rows, 0, len(ids), steps)
    if seen is None:
        return None
    fresh = np.flatnonzero((names < 0) & seen)
    names[fresh] = np.arange(len(known), len(known) + len(fresh), dtype=np.int32)
    rows = rename_rows(rows, 0, names, steps)
    return rows, np.concatenate((known, convert_ids(ids[fresh], known, what))) if len(fresh) else known


def begins_with(ids, known):
    """Return True if ids begin with the known ones, in their order."""
    same_type = ids.dtype == known.dtype or ids.dtype.kind == known.dtype.kind == "U"
    if len(ids) < len(known) or not same_type:
        return False
    return shares_memory(ids, known) or np.array_equal(ids[: len(known)], known)


def shares_memory(ids, known):
    """Return True if the known ids are the first part of the memory of ids."""
    memory, other = ids.__array_interface__, known.__array_interface__
    return ids.dtype == known.dtype and memory["data"] == other["data"] and ids.strides == known.strides


def has_unique_new_ids(ids, known):
    """Return True if no id occurs twice in ids, which begin with the distinct known ones."""
    if ids.dtype.kind not in "iu" or not len(known):
        return trust.first_repeated(ids) is None
    tail = ids[len(known) - 1 :]
    is_increasing = (tail[1:] > tail[:-1]).all() and known.max() == known[-1]
    return bool(is_increasing) or trust.first_repeated(ids) is None


def append_ids(rows, ids, first, steps):
    """Return (rows (n,) int32 on the device, ids) without ids from number `first` on that do not occur in rows.

    None for a row out of range.
    """
    seen = find_occurring(rows, first, len(ids), steps)
    if seen is None:
        return None
    if seen.all():
        return rows, ids
    rows = rename_rows(rows, first, first - 1 + np.cumsum(seen, dtype=np.int32), steps)
    return rows, np.concatenate((ids[:first], ids[first:][seen]))


def find_occurring(rows, first, end, steps):
    """Return (end - first,) bool: True for numbers from first to end that occur in rows (n,) int32 on the device.

    None if a row is out of range.
    """
    seen = steps.zeros(1 + end - first, np.uint8)
    steps.run("mark_new", rows, first, seen)
    seen = steps.fetch(seen)
    return None if seen[0] else seen[1:] != 0


def rename_rows(rows, first, names, steps):
    """Return rows (n,) int32 on the device, those from `first` on replaced by names (any,) int32 on the host."""
    renamed = steps.empty(rows.size, np.int32)
    steps.run("rename_new", rows, first, steps.resident(names, np.int32), renamed)
    return renamed


def convert_ids(ids, known, what):
    """Return new ids in the type of the known ones, text or int64; raise DataError for text if the ids are numbers."""
    if known.dtype.kind == "U":
        return as_text(ids)
    if ids.dtype.kind in "iu":
        return ids.astype(np.int64)
    numbers = [parse_whole(text) for text in ids.tolist()]
    if None in numbers:
        text = ids.tolist()[numbers.index(None)]
        raise DataError(
            f"The new {what} {text!r} is text, and the model's {len(known):,} {what} ids are whole numbers. Use an "
            "unused number as its id, or train again with ids that are text."
        )
    return np.array(numbers, np.int64)


def parse_whole(text):
    """Return the int64 that an id spells as Python prints it, None for anything else."""
    try:
        value = int(text)
    except ValueError:
        return None
    return value if str(value) == text and -(2**63) <= value < 2**63 else None


COUNTS = ("ratings", "corrected", "users", "items", "walked", "settled")


class Options(NamedTuple):
    """Options of partial_fit.

    rows: 'move' trains all rows of the new ratings, 'frozen' leaves rows with earlier ratings unchanged. duplicates:
    rule for repeated pairs. widen_scale: accept ratings outside the model's scale.
    """

    rows: str = "move"
    duplicates: str = "last"
    widen_scale: bool = False


def check_options(rows, duplicates, widen_scale=False):
    """Return the Options; raise ParameterError for values out of bounds."""
    return Options(
        check_choice("rows", rows, ROWS),
        check_choice("duplicates", duplicates, repeats.RULES),
        check_choice("widen_scale", widen_scale, (False, True)),
    )


def has_grown(full_count, now):
    """Return True if the growth from `full_count` ratings is at least a 25th of those now."""
    return (now - full_count) * RULES.growth_part >= now


def late_epochs(epochs, annealing):
    """Return the last epochs, moved to where the rate is still late_rate times the first.

    annealing: factor of the rate per epoch, 1 if the rate falls otherwise.
    """
    first, count = max(0, epochs - RULES.late_epochs), min(RULES.late_epochs, epochs)
    if annealing < 1:
        first = min(first, math.log(RULES.late_rate) / math.log(annealing))
    return tuple(first + number for number in range(count))


def new_entry(changes, new_rows, rows, walked, full_count, seconds):
    """Return the entry of an update.

    changes: numbers of new and of corrected ratings; new_rows: of new users, of new items; the others: see partial_fit.
    """
    names = "ratings", "corrected", "users", "items"
    counts = dict(zip(names, map(int, (*changes, *new_rows))))
    return {**counts, "rows": rows, "walked": walked, "settled": full_count, "seconds": seconds}


def empty_entry(model, rows):
    """Return the entry of updates_ for an update without new ratings."""
    full_count = last_full_count(getattr(model, "updates_", []), len(model._rated.items))
    return new_entry((0, 0), (0, 0), rows, 0, full_count, {})


def last_full_count(entries, ratings):
    """Return the number of ratings at the last epoch over the whole history; ratings: their number now."""
    if entries:
        return entries[-1]["settled"]
    return ratings


def check_entries(entries):
    """Return the validated entries of a model file; raise DataError for malformed ones."""
    if not isinstance(entries, list):
        raise DataError(f"'updates' in its header is {entries!r:.80}.")
    for entry in entries:
        if not isinstance(entry, dict) or set(entry) != {*COUNTS, "rows", "seconds"}:
            raise DataError(f"{entry!r:.80} in its header is no update.")
        for name in COUNTS:
            if persist.entry_of(entry, name, int) < 0:
                raise DataError(f"{name!r} of an update in its header is {entry[name]}.")
        if entry["rows"] not in (*ROWS, RETRAINED):
            raise DataError(f"'rows' of an update in its header is {entry['rows']!r:.80}.")
        persist.check_seconds(persist.entry_of(entry, "seconds", dict))
    return entries


def settings_of_model(model, n_ratings):
    """Return the Settings by which a fitted model learns further ratings.

    n_ratings: ratings in all. The settings are the chosen ones. Models of other solvers continue by stochastic gradient
    descent.
    """
    plan, chosen = check(model, n_ratings, model.feedback_), model.chosen_
    if model.feedback_ == "implicit":
        others = ("damping", "trend", "biases")
        known = {name: chosen[name] for name in plan._fields if name in chosen and name not in others}
        return plan._replace(**known, epochs=chosen["n_epochs"], biases=chosen["biases"] == "learned")
    trained, learned = chosen["n_epochs"] > 0, plan.solver == "sgd"
    if trained and learned:
        plan = plan._replace(epochs=chosen["n_epochs"], regularization=chosen["regularization"])
    if not learned:
        plan = plan._replace(**solver_defaults("sgd", plan.rates, n_ratings), solver="sgd")
    is_held = chosen["biases"] == "held" or not trained
    return plan._replace(epochs=plan.epochs * trained, held=is_held, damping=tuple(chosen["damping"]))
