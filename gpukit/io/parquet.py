"""Read Parquet files through pyarrow in batches of columns.

Importing this module imports pyarrow; callers import it only to read a file.
"""

import contextlib

import numpy as np
import pyarrow
from pyarrow import compute, parquet, types

from gpukit.errors import DataError
from gpukit.io.arrays import from_arrow

ROWS = 1 << 18  # per batch, fewer for many columns


@contextlib.contextmanager
def _translate_errors(name):
    """Convert errors of pyarrow and invalid UTF-8 names to DataError."""
    try:
        yield
    except (OSError, UnicodeDecodeError, pyarrow.ArrowException) as error:
        line = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"{name} is no Parquet file, or is damaged or cut short: {line}") from error


class Reader:
    """Parquet reader of an open Source, by batches of rows.

    `names` are its columns, `rows` their length.
    """

    def __init__(self, source):
        self.name = source.name
        with _translate_errors(self.name):
            self.file = parquet.ParquetFile(source.seekable())
            self.names, self.rows = list(self.file.schema_arrow.names), self.file.metadata.num_rows
            self.metadata = self.file.schema_arrow.metadata or {}
            groups = [self.file.metadata.row_group(index) for index in range(self.file.num_row_groups)]
            self.group_rows = [group.num_rows for group in groups]
            self.group_bytes = [group.total_byte_size for group in groups]
        if self.rows != sum(self.group_rows) or min(self.group_rows, default=0) < 0:
            raise DataError(
                f"{self.name} is damaged: it says {self.rows:,} rows, and its groups of rows {sum(self.group_rows):,}."
            )

    def batches(self, names, groups=None):
        """Yield (first row from 0, {name: pyarrow array}) of some columns per batch.

        Each batch is validated fully once: text is UTF-8 and list offsets are in range. groups: range of row groups;
        None: all.
        """
        numbers = 1 << 22  # per batch
        groups = range(len(self.group_rows)) if groups is None else groups
        start = sum(self.group_rows[: groups.start])
        end = start + sum(self.group_rows[groups.start : groups.stop])
        names = list(names)
        twice = next((name for name in names if self.names.count(name) > 1), None)
        if twice is not None:
            raise DataError(f"{self.name} has several columns named {twice!r}. Rename them, or leave all but one out.")
        rows = max(1, min(ROWS, numbers // max(1, len(names))))
        with _translate_errors(self.name):
            for batch in self.file.iter_batches(rows, list(groups), names):
                batch.validate(full=True)
                yield start, dict(zip(batch.schema.names, batch.columns, strict=True))
                start += len(batch)
        if start != end:
            raise DataError(f"{self.name} is damaged or cut short: it says {end:,} rows and holds {start:,}.")

    def frame(self):
        """Return the file as a pandas DataFrame; a meaningful index comes first."""
        import pandas

        with _translate_errors(self.name):
            table = self.file.read()
            table.validate(full=True)
        for name, column in zip(table.column_names, table.columns, strict=True):
            if _is_strange(_kind(column)):
                raise DataError(f"{self.name}: the column {name!r:.80} holds {_kind(column)}, not numbers or text.")
        with _translate_errors(self.name):
            frame = self._as_pandas(table)
            for name, column in zip(table.column_names, table.columns, strict=True):
                _keep_integers(pandas, frame, name, column)
        return frame if isinstance(frame.index, pandas.RangeIndex) else frame.reset_index(allow_duplicates=True)

    def _as_pandas(self, table):
        """Convert a table to a DataFrame; DataError for damaged pandas metadata."""
        try:
            return table.to_pandas()
        except pyarrow.ArrowException:
            raise
        except (AttributeError, IndexError, KeyError, TypeError, ValueError, SyntaxError) as error:
            raise DataError(f"{self.name}: the metadata of pandas is damaged ({error!r:.60}).") from error

    def refuse_missing(self, column, start, what):
        """Raise DataError for the first null in a batch's column."""
        if column.null_count:
            row = start + int(np.argmax(column.is_null().to_numpy(zero_copy_only=False))) + 1
            raise DataError(f"{self.name}, row {row:,} has no {what}. Remove such rows first.")

    def ids(self, column, start, what):
        """Return a batch's column of ids, with string views and UUIDs cast to strings.

        Raises DataError for missing ids, NaN included, and for types that are not ids: lists, bytes.
        """
        if str(column.type) == "extension<arrow.uuid>":
            column = pyarrow.array([None if value is None else str(value) for value in column.to_pylist()])
        kind = _kind(column)
        if _is_strange(kind) or types.is_boolean(kind):
            raise DataError(f"{self.name}: the column of the {what} holds {kind}, not integers or text.")
        if types.is_float16(column.type):
            column = column.cast(pyarrow.float32())  # pyarrow 19 has no is_nan of halves
        if types.is_floating(column.type):
            column = compute.if_else(compute.is_nan(column), None, column)
        self.refuse_missing(column, start, what)
        return column.cast(pyarrow.string()) if str(column.type) == "string_view" else column

    def is_list(self, column):
        """Return True for a column of lists."""
        kind = column.type
        return types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)

    def text(self, column, what):
        """Return a batch's column of text as [str], '' for nulls.

        Raises DataError for another type.
        """
        kind = _kind(column)
        if not (types.is_string(kind) or types.is_large_string(kind) or types.is_null(kind)):
            raise DataError(f"{self.name}: the column of the {what} holds {kind}, not text.")
        return [word or "" for word in column.to_pylist()]

    def numbers(self, column, start, what):
        """Return a batch's column as an array of numbers.

        Raises DataError for missing values and for other types.
        """
        most_digits = 18  # digits of whole decimals that fit int64
        self.refuse_missing(column, start, what)
        kind = column.type
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
            if not types.is_decimal(kind):
                raise DataError(f"{self.name}: the column of the {what} holds {kind}, not numbers.")
            exact = kind.scale == 0 and kind.precision <= most_digits
            column = column.cast(pyarrow.int64() if exact else pyarrow.float64())
        is_boolean = types.is_boolean(column.type)
        return column.to_numpy(zero_copy_only=False) if is_boolean else from_arrow(column)


def _keep_integers(pandas, frame, name, column):
    """Restore the nullable dtype of integers with nulls, which pandas makes floats."""
    if types.is_integer(column.type) and column.null_count and list(frame.columns).count(name) == 1:
        if frame[name].dtype.kind == "f":
            kind = str(column.type).replace("i", "I").replace("u", "U")
            frame[name] = column.to_pandas(types_mapper=lambda _: pandas.api.types.pandas_dtype(kind)).array


def _kind(column):
    """Return the value type of a column, also of a dictionary column."""
    kind = column.type
    return kind.value_type if types.is_dictionary(kind) else kind


def _is_strange(kind):
    """Return True for lists, structs, bytes and types of extensions."""
    bytes_of_some_kind = types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
    is_extension = isinstance(kind, pyarrow.BaseExtensionType)
    return types.is_nested(kind) or bytes_of_some_kind or is_extension or str(kind) == "binary_view"
