"""Parquet: columns of another type, missing values, names, no rows; and bytes."""

import io

import numpy as np

from fuzz.mutate import arrays, raw
from fuzz.mutate.values import TOKENS


def read(data):
    """The pyarrow table."""
    import pyarrow.parquet

    return pyarrow.parquet.read_table(io.BytesIO(data))


def written(table, **options):
    """The bytes of a table."""
    import pyarrow.parquet

    file = io.BytesIO()
    pyarrow.parquet.write_table(table, file, **options)
    return file.getvalue()


def edit_column(data, rng):
    """Convert one column to another type."""
    import pyarrow

    table = read(data)
    at = int(rng.integers(table.num_columns))
    name, rows = table.column_names[at], table.num_rows
    column = _another(table.column(at), rows, rng)
    if len(column) != rows:
        table = table.slice(0, min(rows, len(column)))
        column = column.slice(0, len(table))
    return written(table.set_column(at, pyarrow.field(name, column.type), column))


def _another(column, rows, rng):
    import pyarrow

    values = column.to_pylist()
    place = int(rng.integers(max(1, rows)))
    draw = int(rng.integers(12))
    if draw == 0 and values:
        values[place] = None
        return pyarrow.array(values, column.type)
    if draw == 1:
        return pyarrow.array([None] * rows, (pyarrow.null(), column.type)[rng.integers(2)])
    if draw == 2:
        return pyarrow.array([TOKENS[rng.integers(len(TOKENS))].replace("\ufeff", "") for _ in range(rows)])
    if draw == 3:
        return pyarrow.array([str(value) for value in values]).dictionary_encode()
    if draw == 4:
        return pyarrow.array([[value] for value in values])
    if draw == 5:
        return pyarrow.array([2**64 - 1 - k for k in range(rows)], pyarrow.uint64())
    if draw == 6:
        return pyarrow.array([b"\xff%d" % k for k in range(rows)], pyarrow.binary())
    if draw == 7:
        return pyarrow.array([{"a": k} for k in range(rows)])
    if draw == 8:
        return pyarrow.array(list(range(rows)), pyarrow.timestamp("ns")) if rows else pyarrow.array([], "int8")
    try:
        array = np.asarray(column.to_numpy())
        return pyarrow.array(np.atleast_1d(arrays.one(array if array.dtype.kind != "O" else array.astype(str), rng)))
    except (pyarrow.ArrowException, ValueError, TypeError, NotImplementedError):
        return pyarrow.array(np.full(rows, np.nan, np.float16))


def edit_table(data, rng):
    """Omit, repeat or rename columns and rows; use other compressions."""
    table = read(data)
    names, at = list(table.column_names), int(rng.integers(table.num_columns))
    draw = int(rng.integers(8))
    if draw == 0:
        return written(table.drop_columns([names[at]]))
    if draw == 1:
        return written(table.append_column(names[at], table.column(0)))
    if draw == 2:
        return written(table.rename_columns([*names[:at], TOKENS[rng.integers(len(TOKENS))], *names[at + 1 :]]))
    if draw == 3:
        return written(table.slice(0, int(rng.integers(3))))
    if draw == 4:
        return written(table.select([]))
    if draw == 5:
        return written(table, compression=("gzip", "brotli", "zstd", "none")[rng.integers(4)])
    if draw == 6:
        return written(table, row_group_size=int(rng.integers(1, 9)), use_dictionary=bool(rng.integers(2)))
    return written(table.take(np.repeat(np.arange(table.num_rows), 2)))


PARQUET = (*(edit_column,) * 6, *(edit_table,) * 3, *raw.BYTES[:10])
