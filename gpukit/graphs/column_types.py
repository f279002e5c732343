"""Types of a tensor's input cells, and imputed cells that fit."""

from numbers import Integral
from typing import NamedTuple

import numpy as np

from gpukit.base.arrays import EXACT, as_array
from gpukit.errors import ParameterError


class ColumnType(NamedTuple):
    """Type of a column's cells: numpy dtype; is_whole: they are whole numbers."""

    dtype: np.dtype
    is_whole: bool = False

    def limits(self, minimum=None, maximum=None):
        """Return (least, greatest) value of the type within bounds.

        Raises ParameterError if there is none. Text has no dtype: if no whole number is within the bounds, its numbers
        may have fractions.
        """
        is_integer = self.dtype.kind in "biu"
        low, high = inner_limits(self.dtype, minimum, maximum, self.is_whole)
        if low > high and is_integer:
            raise ParameterError(
                f"no value of {self.dtype} is between the bounds {minimum} and {maximum} (minimum, maximum). Widen "
                "them, or convert the column to floats."
            )
        return (low, high) if low <= high else inner_limits(self.dtype, minimum, maximum)

    def fit(self, values, minimum=None, maximum=None):
        """Return imputed numbers within the type's range and the bounds.

        They are rounded if the type is whole.
        """
        low, high = self.limits(minimum, maximum)
        if self.is_whole and low % 1 == 0 == high % 1:
            values = np.rint(values) + 0.0  # no -0
        values = np.clip(values, float(low), float(high))
        return np.clip(values.astype(self.dtype), low, high) if self.dtype.kind == "f" else values

    def cast(self, values):
        """Return numbers from `fit` in the dtype.

        Numbers that float64 rounds up to 2^63 or 2^64 become the largest integer.
        """
        if self.dtype.kind not in "iu":
            return values.astype(self.dtype)
        largest = np.iinfo(self.dtype).max
        over = values >= float(largest)
        out = np.where(over, 0, values).astype(self.dtype)
        out[over] = largest
        return out


FLOAT = ColumnType(np.dtype(np.float64))
WHOLE = ColumnType(np.dtype(np.float64), True)  # whole numbers of a text, without bounds of a dtype
BOOLEAN = ColumnType(np.dtype(bool), True)
BOOLEANS = ("False", "True"), ("false", "true"), ("FALSE", "TRUE")  # spellings that pandas reads


def inner_limits(dtype, minimum=None, maximum=None, is_whole=False):
    """Return (least, greatest) number of a dtype within bounds.

    They are Python's int or of the dtype; least may exceed greatest.
    """
    if dtype.kind in "biu":
        lowest, highest = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        low = lowest if minimum is None else max(lowest, int(np.ceil(minimum)))
        return low, highest if maximum is None else min(highest, int(np.floor(maximum)))
    largest = np.finfo(dtype).max
    if is_whole:
        minimum, maximum = minimum and np.ceil(minimum), maximum and np.floor(maximum)
    with np.errstate(over="ignore"):
        low = -largest if minimum is None else dtype.type(minimum)
        high = largest if maximum is None else dtype.type(maximum)
    low = np.nextafter(low, dtype.type(np.inf)) if minimum is not None and float(low) < minimum else low
    high = np.nextafter(high, dtype.type(-np.inf)) if maximum is not None and float(high) > maximum else high
    return low, high


class ColumnTypes(NamedTuple):
    """Types of the cells of a tensor (N, ...), one row per vertex.

    types     (ColumnType, ...)
    codes     int array that broadcasts to (N, entries): index in `types` of each cell's type
    original  the input integers if float64 cannot represent all of them; else None
    """

    types: tuple
    codes: np.ndarray
    original: object = None

    def at(self, order):
        """Return the types with the vertices in another order."""
        codes = self.codes[order] if len(self.codes) > 1 else self.codes
        return self._replace(codes=codes, original=None if self.original is None else self.original[order])

    def of_cells(self, missing):
        """Yield (ColumnType, mask of its missing cells) for types with missing cells.

        Masks and missing are bool (N, entries).
        """
        for code, value in enumerate(self.types):
            where = missing & (self.codes == code)
            if where.any():
                yield value, where

    def check_bounds(self, missing, minimum, maximum):
        """Raise ParameterError if bounds exclude all values of a needed type."""
        for kind, _ in self.of_cells(missing):
            kind.limits(minimum, maximum)

    def fit(self, array, missing, minimum, maximum):
        """Return a copy of (N, ...) numbers whose missing cells fit types and bounds.

        missing: (N, entries).
        """
        array = array.copy()
        cells = array.reshape(len(array), -1)
        for kind, where in self.of_cells(missing):
            cells[where] = kind.fit(cells[where], minimum, maximum)
        return array

    def restore(self, array, missing):
        """Return an array from `fit` in the dtype of the input tensor."""
        if len(self.types) > 1:
            return array
        out = self.types[0].cast(array)
        if self.original is not None:
            out = np.where(missing.reshape(out.shape), out, self.original)
        return out


def types_of(values):
    """Return the ColumnTypes of an input tensor.

    None for float32, float64 and non-tensors.
    """
    if getattr(values, "dtype", None) in (np.float32, np.float64):
        return None
    values = values.data if isinstance(values, np.ma.MaskedArray) else as_array(values, "the tensor")
    dtype = values.dtype
    if dtype.kind not in "biuf" or dtype in (np.float32, np.float64) or dtype.itemsize > 8:
        return None
    is_long = dtype.kind in "iu" and dtype.itemsize == 8 and values.size
    inexact = is_long and bool(values.max() > EXACT or values.min() < -EXACT)
    return single_type(ColumnType(dtype, dtype.kind != "f"), np.array(values) if inexact else None)


def single_type(kind, original=None):
    """Return the ColumnTypes of a tensor with one type of cells."""
    return ColumnTypes((kind,), np.zeros((1, 1), np.int64), original)


def types_of_frame(frame, by_vertex):
    """Return the ColumnTypes of a pandas frame, None for float64.

    by_vertex: True if a column is a vertex.
    """
    known = {dtype: type_of_dtype(dtype) for dtype in set(frame.dtypes)}
    result = [known[dtype] or type_of_objects(frame.iloc[:, place]) for place, dtype in enumerate(frame.dtypes)]
    types = tuple(dict.fromkeys(result))
    if types in ((), (FLOAT,)):
        return None
    places = {value: code for code, value in enumerate(types)}
    codes = np.array([places[value] for value in result]) if len(types) > 1 else np.zeros(1, np.int64)
    return ColumnTypes(types, codes.reshape((-1, 1) if by_vertex else (1, -1)))


def is_object(dtype):
    """Return True for pandas' dtype of Python objects."""
    return isinstance(dtype, np.dtype) and dtype.kind == "O"


def type_of_column(column):
    """Return the ColumnType of a pandas column; FLOAT for text and others."""
    return type_of_dtype(column.dtype) or type_of_objects(column)


def type_of_dtype(dtype):
    """Return the ColumnType of a pandas dtype; None for object."""
    kind = getattr(dtype, "numpy_dtype", getattr(dtype, "subtype", dtype))
    if hasattr(dtype, "categories"):
        return type_of_dtype(dtype.categories.dtype)
    if isinstance(kind, np.dtype) and kind.kind in "biuf":
        return ColumnType(kind, kind.kind != "f")
    return None if is_object(dtype) else FLOAT


def type_of_objects(column):
    """Return the ColumnType of a column of Python objects.

    It is whole or boolean if all observed cells are.
    """
    cells = column.dropna().tolist()
    if not cells or not all(isinstance(value, Integral | np.bool_) for value in cells):
        return FLOAT
    are_bools = all(isinstance(value, bool | np.bool_) for value in cells)
    return ColumnType(np.dtype(bool if are_bools else np.int64), True)


def boolean_words(column):
    """Return the words of (False, True) in a column of only these; else None.

    column: observed cells.
    """
    if not len(column) or column.dtype.kind in "iuf":
        return None
    words = set(map(str, column.unique()))
    return next((pair for pair in BOOLEANS if words <= set(pair)), None)


def type_of_words(words):
    """Return the ColumnType of a text's observed whole numbers (n,)."""
    if boolean_words(words) is not None:
        return BOOLEAN
    return FLOAT if words.astype(str).str.contains(r"\.|\d[eE]").any() else WHOLE


def refill(column, values, missing):
    """Return a pandas column with its missing cells replaced, in its dtype.

    See `is_converted` for exceptions. values (R,), which fit the type; missing (R,) bool.
    """
    import pandas

    kind, dtype = type_of_column(column), column.dtype
    cells = kind.cast(values[missing])
    if is_converted(column):
        return pandas.Series(values, column.index, dtype=np.float64)
    if isinstance(dtype, np.dtype):
        out = column.to_numpy(copy=True)
        out[missing] = cells.tolist() if is_object(dtype) else cells
    elif hasattr(dtype, "categories") or hasattr(dtype, "subtype"):
        out = np.where(missing, kind.cast(values), column.to_numpy(dtype=kind.dtype, na_value=0))
    else:
        out = column.array.copy()
        out[missing] = cells
    return pandas.Series(out, column.index, dtype=getattr(out, "dtype", None))


def is_converted(column):
    """Return True if an imputed pandas column becomes float64.

    These are objects, texts and categories that are not integers.
    """
    return column.dtype.kind not in "biuf" and type_of_column(column).dtype.kind == "f"


def refill_frame(frame, values, missing):
    """Return a frame with missing cells replaced, in its dtypes.

    Arguments as in `refill`.
    """
    import pandas

    dtypes = set(frame.dtypes)
    if len(dtypes) == 1 and (dtype := next(iter(dtypes))) in (np.float32, np.float64):
        out = np.where(missing, values.astype(dtype), frame.to_numpy())
        return frame.__class__(out, index=frame.index, columns=frame.columns)
    columns = {
        place: refill(frame.iloc[:, place], values[:, place], missing[:, place]) for place in range(frame.shape[1])
    }
    result = pandas.DataFrame(columns, index=frame.index) if columns else frame.copy()
    return frame.__class__(result.set_axis(frame.columns, axis=1))
