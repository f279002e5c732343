"""Validation of a model from a file, once, when it is loaded."""

import numpy as np

from gpukit.errors import DataError
from gpukit.factorization.model.layout import LEVELS, pair_keys
from gpukit.factorization.model.state import KEPT
from gpukit.factorization.settings import MOST_FACTORS
from gpukit.io import trust
from gpukit.neighbors.estimator import MOST_NEIGHBORS

LARGEST = 1e15  # of a parameter: products of a thousand pairs of them are finite


def is_number(value):
    """Return True if a JSON value is a number within float range."""
    most = 1 << 53  # of epochs, seconds, errors
    return isinstance(value, int | float) and not isinstance(value, bool) and not abs(value) > most


def sizes_of(state):
    """Return (F, K) of a State; raise DataError for impossible sizes."""
    sizes = tuple(array.shape[-1] if array.ndim else 0 for array in (state.user_factors, state.neighbors))
    for what, size, least, most in zip(("factors", "neighbours"), sizes, (1, 0), (MOST_FACTORS, MOST_NEIGHBORS)):
        if not least <= size <= most:
            raise DataError(f"it has {size:,} {what}; {least} to {most:,} are possible.")
    return sizes


def check_state(state, shape, sizes, what="state"):
    """Raise DataError unless a State has valid shapes, dtypes and values.

    shape: (M, N); sizes: (F, K).
    """
    (users, items), (f, k) = shape, sizes
    shapes = ((users, f), (users, KEPT), (items, f), (items, KEPT), (items, 2, k))
    for name, wanted in zip(state._fields, shapes):
        trust.check_array(f"{what}.{name}", getattr(state, name), np.float32, wanted)
        trust.check_finite(f"{what}.{name}", getattr(state, name), LARGEST)
    if state.item_weights.size:
        trust.check_array(f"{what}.item_weights", state.item_weights, np.float32, (items, items))
        trust.check_finite(f"{what}.item_weights", state.item_weights, LARGEST)
    trust.check_array(f"{what}.neighbors", state.neighbors, np.int32, (items, k))
    trust.check_range(f"{what}.neighbors", state.neighbors, 0, items)


def check_history(history, shape, what="rated"):
    """Raise DataError unless a History on the host fits shape (M, N)."""
    count = len(history.items)
    trust.check_array(f"{what}.indptr", history.indptr, np.int64, (shape[0] + 2,))
    trust.check_pointers(f"{what}.indptr", history.indptr, shape[0] + 1, count)
    nobody = count - history.indptr[-2]
    if nobody:
        raise DataError(f"{what}.indptr gives {nobody:,} ratings to the row that stands for nobody.")
    trust.check_array(f"{what}.items", history.items, np.int32, (count,))
    trust.check_range(f"{what}.items", history.items, 0, shape[1])
    trust.check_array(f"{what}.codes", history.codes, np.uint8, (count,))
    trust.check_range(f"{what}.codes", history.codes, 1, LEVELS - 1)
    trust.check_array(f"{what}.levels", history.levels, np.float32, (LEVELS,))
    trust.check_finite(f"{what}.levels", history.levels, LARGEST)


def check_seen(seen, shape, what="seen"):
    """Raise DataError unless seen (n, 2) int32 has sorted pairs of rows.

    The rows are of users and items of a model of shape (M, N).
    """
    trust.check_array(what, seen, np.int32, (None, 2))
    for column, rows in zip(seen.T, shape):
        trust.check_range(what, column, 0, rows)
    keys = pair_keys(*seen.T)
    if (keys[1:] <= keys[:-1]).any():
        raise DataError(f"{what} is not sorted by user and item, or has a pair twice.")


def check_scale(scale):
    """Raise DataError for an invalid Scale.

    It has a mean, a deviation above 0 and bounds (for clicks -inf and inf); all finite numbers fit float32.
    """
    unbounded = scale[2:] == (float("-inf"), float("inf"))
    numbers = [float(number) for number in scale[: 2 if unbounded else 4] if isinstance(number, int | float)]
    if len(numbers) < (2 if unbounded else 4) or not np.isfinite(np.array(numbers).astype(np.float32)).all():
        raise DataError(f"mean, deviation, lowest and highest rating are {list(scale)}, not four finite numbers.")
    if scale.deviation <= 0 or scale.low > scale.high:
        raise DataError(f"the ratings' deviation is {scale.deviation}, their range {scale.low} to {scale.high}.")


def check_epochs(history):
    """Raise DataError unless a training's history is a list of epochs.

    Each has epoch (1, 2, ...), seconds and rmse (None: not judged).
    """
    for place, entry in enumerate(history, start=1):
        known = isinstance(entry, dict) and set(entry) == {"epoch", "seconds", "rmse"}
        if not known or not all(number is None or is_number(number) for number in entry.values()):
            raise DataError(f"{entry!r:.80} in the history of training is no epoch, seconds and rmse.")
        if entry["epoch"] != place or entry["seconds"] is None:
            raise DataError(f"{entry!r:.80} in the history of training lacks its seconds, or is not epoch {place}.")
