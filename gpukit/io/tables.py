"""Write tables as csv and Parquet through pyarrow, in blocks of rows.

Importing this module imports pyarrow; callers import it only to write a table.
"""

import itertools

import numpy as np
import pyarrow
from pyarrow import compute, parquet

from gpukit import _pool
from gpukit.io.arrays import from_arrow
from gpukit.io.records import ODD, check_letters, csv_line
from gpukit.runtime.thread_count import get_num_threads

ROWS = 1 << 16  # per csv block, fewer for many columns
VALUES = 1 << 19  # per csv block
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
    for part in _slices(count, min(ROWS, max(1, VALUES // len(columns)))):
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


def spell_as_python(numbers):
    """Spell float32 numbers as str() does: 1.0, not 1 as `write_csv` does."""
    column = _to_arrow(numbers)
    return _respell(_spell_floats(column), _to_arrow(numbers == np.rint(numbers)), column, _format_shortest)


def _slices(count, rows):
    """Yield slices of row blocks; an empty one for no rows."""
    for start in range(0, max(count, 1), rows):
        yield slice(start, min(start + rows, count))


def _array(column):
    """Return a column as a pyarrow array."""
    column = column if isinstance(column, pyarrow.Array) else words(column)
    return _to_arrow(column) if isinstance(column, np.ndarray) else column


def _to_arrow(array):
    """Return an array as pyarrow's; numbers and booleans by their memory, as pyarrow.array imports pandas."""
    if array.dtype.kind == "b":
        return _to_arrow(array.view(np.uint8)).cast(pyarrow.bool_())
    if array.dtype.kind not in "iuf" or not array.dtype.isnative:
        return pyarrow.array(array)
    buffer = pyarrow.py_buffer(np.ascontiguousarray(array))
    return pyarrow.Array.from_buffers(pyarrow.from_numpy_dtype(array.dtype), len(array), [None, buffer])


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
    if pyarrow.types.is_dictionary(column.type):
        return _spell(column.dictionary).take(column.indices)
    if column.type == TEXT:
        maybe = compute.match_substring_regex(column, MAYBE_ODD)
        return _respell(column, maybe, column, lambda word: csv_line([word])[:-1])
    return _spell_floats(column) if column.type == pyarrow.float32() else column.cast(TEXT)


def _spell_floats(column):
    """Return the shortest text of float32 numbers, with Python's exponents.

    Python switches to exponents earlier than pyarrow.
    """
    size = np.abs(from_arrow(column))
    exponent = (size > 0) & (size <= 1e-4) | (size >= 1e6)
    return _respell(column.cast(TEXT), _to_arrow(exponent), column, _format_shortest)


def _format_shortest(value):
    return str(np.float32(value))


def _respell(texts, which, values, spell):
    """Replace texts where `which` is true by `spell` of the values there."""
    changed = spell_each(values.filter(which), spell).cast(TEXT)
    return compute.replace_with_mask(texts, which, changed)
