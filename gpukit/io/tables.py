"""Write tables as csv and Parquet through pyarrow, and read Parquet, in blocks of rows.

Importing this module imports pyarrow; callers import it only to read or write a table.
"""

import contextlib
import itertools

import numpy as np
import pyarrow
from pyarrow import compute, parquet, types

from gpukit import _pool
from gpukit.errors import DataError
from gpukit.io.arrays import from_arrow
from gpukit.io.records import ODD, check_letters, csv_line
from gpukit.runtime.thread_count import get_num_threads

VALUES = 1 << 18  # per csv block
BATCH = 1 << 18  # rows read at a time, fewer of many columns
GROUP = 1 << 20  # rows of a row group of Parquet
TEXT = pyarrow.large_string()  # offsets of 64 bits: the text of a block may exceed 2 GiB
MAYBE_ODD = f"{ODD.pattern}|[^ -~]"  # matches every word that csv_line quotes, and other words that are not ASCII


def write_csv(file, columns, count):
    """Write a table as csv with a header.

    Parameters
    ----------
    file : binary file
    columns : dict
        {name: function of a slice of rows that returns their values}. The functions run on several threads and return
        arrays of numpy or pyarrow. Ids and words are text, quoted where a reader would split, strip or drop it. A
        float32 becomes the shortest text that restores it.
    count : int
        Number of rows.
    """
    write_blocks(file, columns, row_blocks(columns.values(), count))


def write_blocks(file, names, blocks):
    """Write csv as `write_csv` does, and compute blocks while others are written.

    blocks: iterable of functions without arguments, each returning the columns of some rows. The calling thread
    advances the iterable.
    """
    file.write(csv_line(names).encode())
    _pool.in_order(_spell_block, blocks, file.write, get_num_threads())


def row_blocks(columns, count):
    """Yield a function per block of rows that returns its columns.

    columns: functions of a slice of rows, as in `write_csv`.
    """
    for part in _slices(count, max(1, VALUES // len(columns))):
        yield lambda part=part: [take(part) for take in columns]


def write_parquet(file, columns, count, metadata=None):
    """Write a table as Parquet, a row group at a time.

    file: open binary file. columns, count: see `write_csv`. metadata: {bytes: bytes} of the file, or None. Raises
    DataError for text with a byte of 0 or a surrogate.
    """
    for name in columns:
        check_letters(name, "The column's name")
    writer = None
    for part in _slices(count, GROUP):
        stored = {name: _to_parquet(name, take(part)) for name, take in columns.items()}
        table = pyarrow.table(stored, metadata=metadata)
        writer = writer or parquet.ParquetWriter(file, table.schema)
        writer.write_table(table)
    writer.close()


def words(texts):
    """Convert text (an array or a list of str) to a pyarrow array.

    Arrays of numbers are returned unchanged. DataError for surrogates. Convert ids once: `words(ids).take(rows)` is
    cheap.
    """
    if isinstance(texts, np.ndarray):
        if texts.dtype.kind not in "UO":
            return texts
        texts = texts.tolist()  # pyarrow would end the text of an array at a byte of 0
    try:
        letters = [text.encode() for text in texts]
    except UnicodeEncodeError:
        for text in texts:
            check_letters(text, "The text")
        raise
    bounds = np.cumsum([0, *map(len, letters)], dtype=np.int64)  # pyarrow.array imports pandas
    return pyarrow.Array.from_buffers(TEXT, len(letters), [None, *map(pyarrow.py_buffer, (bounds, b"".join(letters)))])


def spell_each(values, spell):
    """Return a dictionary array of spell(value), called once per distinct value."""
    encoded = _array(values).dictionary_encode()
    texts = words([spell(value) for value in encoded.dictionary.to_pylist()])
    return pyarrow.DictionaryArray.from_arrays(encoded.indices, texts)


def spell_rounded(numbers, places):
    """Spell float32 numbers with `places` (at most 8) decimals, as f"{number:.4f}"."""
    units = 10.0**places
    rounded = np.rint(numbers.astype(np.float64) * units)  # the product is exact: at most 24 + 19 bits
    return spell_each(rounded, lambda value: f"{value / units:.{places}f}")


def _slices(count, rows):
    """Yield slices of row blocks; an empty one for no rows."""
    for start in range(0, max(count, 1), rows):
        yield slice(start, min(start + rows, count))


def _array(column):
    """Return a column as a pyarrow array; numbers by their memory, as pyarrow.array imports pandas."""
    column = words(column) if not isinstance(column, pyarrow.Array) else column
    if isinstance(column, pyarrow.Array):
        return column
    if column.dtype.kind not in "iuf" or not column.dtype.isnative:
        return pyarrow.array(column)
    buffer = pyarrow.py_buffer(np.ascontiguousarray(column))
    return pyarrow.Array.from_buffers(pyarrow.from_numpy_dtype(column.dtype), len(column), [None, buffer])


def _to_parquet(name, column):
    """Return a column for Parquet; DataError for zero bytes in text."""
    column = _array(column)
    if column.type != TEXT:
        return column
    wrong = column.filter(compute.match_substring(column, "\0"))
    for word in wrong.to_pylist():
        check_letters(word, f"The {name}")
    return column.cast(pyarrow.string())


def _spell_block(block):
    """Return the csv lines of a block of rows, as bytes."""
    columns = [_spell(_array(column)) for column in block()]
    *ends, nothing = words([","] * (len(columns) - 1) + ["\n", ""])
    parts = itertools.chain.from_iterable(zip(columns, ends, strict=True))
    lines = compute.binary_join_element_wise(*parts, nothing)
    _, bounds, letters = lines.buffers()
    bounds = np.frombuffer(bounds, np.int64)[lines.offset :]
    return memoryview(letters)[bounds[0] : bounds[len(lines)]]


def _spell(column):
    """Return the fields of a column, quoted where necessary."""
    if types.is_dictionary(column.type):
        return _spell(column.dictionary).take(column.indices)
    if column.type == TEXT:
        maybe = compute.match_substring_regex(column, MAYBE_ODD)
        quoted = spell_each(column.filter(maybe), lambda word: csv_line([word])[:-1]).cast(TEXT)
        return compute.replace_with_mask(column, maybe, quoted)
    return column.cast(TEXT)


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
        rows = max(1, min(BATCH, numbers // max(1, len(names))))
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
                advice = " Give each number of a list a column of its own." if types.is_nested(kind) else ""
                raise DataError(f"{self.name}: the column of the {what} holds {kind}, not numbers.{advice}")
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
