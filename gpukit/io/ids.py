"""Map external ids to rows 0..M-1 and back.

Id arrays are sorted; they are int64 if every id is an integer, else str.

Shared by ids.py (host) and ratings/orders (GPU).
"""

from collections.abc import Iterator
from decimal import Decimal

import numpy as np

from gpukit._pool import map_row_blocks, parallel_map
from gpukit.base.arrays import as_text, fixed_width, keep_objects
from gpukit.errors import DataError
from gpukit.io.arrays import from_arrow

SPAN = 1 << 20  # range of ids for which a table is worthwhile even for few ids
EMPTY = np.int32(-1)
NO_IDS = (bytes, bytearray, bool, np.bool_, complex, dict, list, tuple, set, frozenset, Iterator)
FLOATS, INTEGERS = (float, np.floating, Decimal), (int, np.integer)
PIECE = 1 << 18  # ids per task


def rank_present(present, low):
    """Return (ranks (span,) int32, known (rows,) int64 ascending ids).

    present: (span,), 0 where no id is; position k is the id low + k. ranks: row of each id.
    """
    seen = present > 0
    return np.cumsum(seen, dtype=np.int32) - np.int32(1), np.flatnonzero(seen) + low


def id_array(ids, what="user", whole=False):
    """Return ids as an array (n,); a scalar becomes (1,).

    what: name of the ids in messages. Raises DataError for invalid types, more than one axis, and missing ids (None,
    NaN, NA); whole: for fractions too.
    """
    try:
        is_masked = isinstance(ids, np.ma.MaskedArray)
        array = np.asarray(ids.astype(object).filled(np.nan) if is_masked and ids.mask.any() else ids)
        ids = np.atleast_1d(array if array is ids else keep_objects(ids, array))
    except (TypeError, ValueError) as error:
        raise DataError(f"the {what} ids are no list of ids ({error}).") from error
    ids = fixed_width(ids) if ids.dtype.kind == "T" else ids
    if ids.ndim != 1 or ids.dtype.kind not in "biufUSOMm":
        raise DataError(f"{what} ids are needed, one after the other; got {ids.dtype} of shape {ids.shape}.")
    are_words = ids.dtype.kind == "O" and {*map(type, ids)} == {str}
    if ids.dtype.kind in "biuUS" or are_words:  # large tables: no mask, no further pass
        return ids
    lacking = missing(ids)
    if lacking.any():
        raise DataError(f"Row {int(np.argmax(lacking)) + 1:,} has no {what} id. Remove such rows first.")
    check_exact(ids, what)
    ids = as_whole(ids)
    if whole:
        check_fractions(ids, what=what)
    return ids


def check_exact(ids, what="user"):
    """Raise DataError for floats that round whole numbers: different ids may have become one.

    ids (n,): of any dtype.
    """
    if ids.dtype.kind == "O":
        ids = np.array([value for value in ids if isinstance(value, float | np.floating)], np.float64)
    if ids.dtype.kind != "f" or not len(ids):
        return
    rounded = ids[np.isfinite(ids) & (np.abs(ids) >= 2.0 ** (np.finfo(ids.dtype).nmant + 1))]
    if len(rounded):
        raise DataError(
            f"The {what} id {rounded[0]:.16g} is a {rounded.dtype}, which rounds whole numbers of this size, so that "
            "different ids become one. Read the column as integers or as text."
        )


def as_whole(ids):
    """Return ids (n,) with whole floats and decimals as integers, 7.0 is 7; an integer array if all are integers."""
    if ids.dtype.kind == "f":
        if (np.abs(ids.astype(np.float64)) < 2.0**63).all() and (ids == np.floor(ids)).all():
            return ids.astype(np.int64)
        ids = ids.astype(object)
    if ids.dtype.kind == "O" and has_floats(ids):
        whole = [int(value) if isinstance(value, FLOATS) and value == value // 1 else value for value in ids]
        ids = np.fromiter(whole, object, len(ids))
    if ids.dtype.kind == "O" and all(issubclass(kind, INTEGERS) and kind is not bool for kind in {*map(type, ids)}):
        numbers = np.array([int(value) for value in ids])  # objects or floats if an id is beyond uint64
        return numbers if numbers.dtype.kind in "iu" else ids
    return ids


def has_floats(ids):
    """Return True if any of an array's objects is a float or a decimal."""
    return any(issubclass(kind, FLOATS) for kind in set(map(type, ids)))


def check_types(ids, what="user"):
    """Raise DataError for values that are not ids.

    These are bytes, booleans, nested lists, dicts and objects without text; `id_array` refuses missing ids. ids: one or
    many, as passed by the user.
    """
    if isinstance(ids, list | tuple):
        each = list(ids)
    elif isinstance(ids, NO_IDS) or ids is None:
        each = [ids]
    else:
        array = np.asarray(ids)
        if array.dtype.kind in "iufUM":
            return
        each = array.ravel().tolist()
    wrong = [kind for kind in set(map(type, each)) if is_no_id(kind)]
    if wrong:
        value = next(value for value in each if type(value) is wrong[0])
        raise DataError(
            f"The {what} ids must be text or whole numbers; got {value!r:.80} ({wrong[0].__name__}). Pass a list or an "
            "array of ids."
        )


def is_no_id(kind):
    """Return True for types that cannot be ids, such as arrays."""
    has_text = kind.__str__ is not object.__str__ or kind.__repr__ is not object.__repr__
    is_table = hasattr(kind, "shape") and not issubclass(kind, np.generic)
    return issubclass(kind, NO_IDS) or is_table or not has_text


def check_fractions(ids, rows=None, what="user"):
    """Raise DataError for the first unknown fractional id.

    rows (n,): -1 for unknown ids; None: all are unknown.
    """
    array = np.atleast_1d(np.asarray(ids))
    if array.dtype.kind not in "fO" or (array.dtype.kind == "O" and not has_floats(array)):
        return
    for value in (array if rows is None else array[rows < 0]).tolist():
        if isinstance(value, FLOATS) and not float(value).is_integer():
            raise DataError(f"The {what} id {value!r} is not a whole number. Pass whole numbers, or text.")


def missing(ids):
    """Return a mask (n,) of ids that are None, NaN, NA or tables."""
    if ids.dtype.kind in "fMm":
        return ids != ids
    if ids.dtype.kind != "O":
        return np.zeros(len(ids), dtype=bool)
    return np.array([_is_missing(value) for value in ids], dtype=bool)


def _is_missing(value):
    if isinstance(value, (*FLOATS, np.generic)):
        return value != value
    return value is None or type(value).__name__ in ("NAType", "NaTType") or hasattr(value, "shape")


def factorize(ids, what="user"):
    """Return (rows (n,) int32, sorted ids (M,)) of an array of ids.

    what: name of the ids in the DataError for missing ones and fractions.
    """
    import pyarrow

    ids = id_array(ids, what, whole=True)
    if ids.dtype.kind in "biu" and not (ids.dtype == np.uint64 and ids.max(initial=0) > np.iinfo(np.int64).max):
        ids = np.ascontiguousarray(ids, dtype=np.int32 if ids.dtype == np.int32 else np.int64)
        if (close := number_by_table(ids)) is not None:
            return close
        encoded = pyarrow.array(ids).dictionary_encode()
        distinct = from_arrow(encoded.dictionary).astype(np.int64, copy=False)
    else:
        are_words = ids.dtype.kind == "O" and {*map(type, ids)} == {str}
        words = ids if are_words else as_text(ids).astype(object)  # pyarrow ends fixed-width text at a byte of 0
        try:
            encoded = pyarrow.array(words, pyarrow.large_string()).dictionary_encode()
        except UnicodeError:  # surrogates, which UTF-8 does not have
            known, rows = np.unique(as_text(ids), return_inverse=True)
            refuse_empty(known, ids, what)
            return rows.reshape(-1).astype(np.int32), known
        distinct = as_text(encoded.dictionary.to_numpy(zero_copy_only=False))
        refuse_empty(distinct, ids, what)
    known, rank = np.unique(distinct, return_inverse=True)
    return take_values(rank.astype(np.int32), from_arrow(encoded.indices)), known


def refuse_empty(distinct, ids, what):
    """Raise DataError with the row if empty text is among the distinct ids, as in files."""
    if (distinct == "").any():
        raise DataError(f"Row {int(np.argmax(ids == '')) + 1:,} has no {what} id. Remove such rows first.")


def number_by_table(ids):
    """Return (rows (n,) int32, sorted ids (M,) int64) by a lookup table.

    ids: (n,) int32 or int64. None if their range is too wide for a table.
    """
    if not len(ids):
        return None
    parts = [ids[start : start + PIECE] for start in range(0, len(ids), PIECE)]
    ends = parallel_map(lambda part: (int(part.min()), int(part.max())), parts)
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    if high - low >= max(SPAN, len(ids)):
        return None
    present = np.zeros(high - low + 1, np.bool_)

    def mark(part):
        places = np.subtract(part, low, dtype=np.int64)
        present[places[~present[places]]] = True  # writing again would take the memory from the other threads

    parallel_map(mark, parts)
    ranks, known = rank_present(present, low)
    return take_values(ranks, ids, low), known


def take_values(values, places, low=0):
    """Return values[places - low], computed on all threads."""
    out = np.empty(len(places), values.dtype)

    def take(start):
        part = slice(start, start + PIECE)
        shifted = np.subtract(places[part], low, dtype=np.int64)
        np.take(values, shifted, out=out[part], mode="clip")  # other modes copy

    parallel_map(take, range(0, len(places), PIECE))
    return out


def rows_of(ids, known, what="user", order=None):
    """Return rows (n,) int32 of ids in `known`, else -1.

    order: ascending_order(known) if available, since it costs a pass over `known`. Integers match ids stored as text
    and the reverse: 7 is '7'. Raises as id_array does.
    """
    ids, known = id_array(ids, what), np.asarray(known)
    if known.dtype.kind not in "biu":
        ids = as_text(ids)
    elif ids.dtype.kind not in "biu" or (ids.dtype == np.uint64 and ids.max(initial=0) > np.iinfo(np.int64).max):
        ids = np.array([_integer(text) for text in ids.tolist()], dtype=object)
        outside = np.array([value is None for value in ids], dtype=bool)
        ids = np.where(outside, 0, ids).astype(np.int64)
        return np.where(outside, EMPTY, rows_of(ids, known, what, order))
    if not len(known):
        return np.full(len(ids), EMPTY)
    order = ascending_order(known) if order is None else order
    # Text of another width would convert all of `known`; text cut to its width is unequal to the id.
    sought = ids.astype(known.dtype) if known.dtype.kind == "U" else ids

    def find(part):
        rows = np.minimum(np.searchsorted(known, sought[part], sorter=order if len(order) else None), len(known) - 1)
        rows = order[rows] if len(order) else rows
        return np.where(known[rows] == ids[part], rows, EMPTY).astype(np.int32)

    return np.concatenate(map_row_blocks(find, (len(ids), 1)) or [np.empty(0, np.int32)])


def ascending_order(known):
    """Return the positions (M,) that sort ids, empty if they ascend."""
    return np.empty(0, np.int64) if (known[1:] > known[:-1]).all() else np.argsort(known, kind="stable")


def _integer(text):
    """Return the int64 that an id spells, or None."""
    try:
        value = int(text)
    except (TypeError, ValueError, OverflowError):
        return None
    return value if (value == text or str(value) == str(text)) and -(2**63) <= value < 2**63 else None
