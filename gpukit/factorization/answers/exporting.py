"""Exports of a fitted model: .npz, .csv, .parquet, and vectors for an index.

Vectors are [u_i, mean + b_i, 1] of users and [v_j, 1, b_j] of items: their product is the prediction without
neighbours, in units of the ratings and not clipped, so that an inner-product index finds a user's best items.
"""

from typing import Literal, NamedTuple, get_args

import numpy as np

from gpukit.arrayfile import refuse_surrogates
from gpukit.io import container, sinks
from gpukit.io.records import check_ids

SUFFIXES = (".npz", ".csv", ".parquet")
Side = Literal["both", "users", "items"]
SIDES = get_args(Side)


class Table(NamedTuple):
    """A row for each user or item.

    names: of the columns; ids (n,), sides (n,) str, ratings (n,) int64 and numbers (n, columns) float32.
    """

    names: list
    ids: np.ndarray
    sides: np.ndarray
    ratings: np.ndarray
    numbers: np.ndarray


def check_export(path):
    """Return the suffix for writing to path.

    A stream without one has .csv. Raises ParameterError or DataError for a path that cannot be written.
    """
    if sinks.is_stream(path) and not str(path).endswith(SUFFIXES):
        return ".csv"
    return container.check_copy(path, SUFFIXES)


def export(model, path, side, vectors):
    """Write the file of Answering.export."""
    suffix = check_export(path)
    sides = ("users", "items") if side == "both" else (side,)
    for value in sides:
        refuse_surrogates(f"{value[:-1]}_ids", getattr(model, f"{value[:-1]}_ids_"))
    with sinks.open_sink(path) as file:
        if suffix == ".npz":
            np.savez(file, **arrays_of(model, sides, vectors))
        else:
            write_table(table_of(model, sides, vectors), suffix, file)


def vectors_of(model, side):
    """Return (rows, F + 2) float32 vectors of one side.

    The top of this file defines them.
    """
    of_users = side == "users"
    factors, bias = (getattr(model, f"{side[:-1]}_{name}_") for name in ("factors", "bias"))
    ones = np.ones_like(bias)
    ends = (bias + np.float32(model.mean_), ones) if of_users else (ones, bias)
    return np.column_stack([factors, *ends])


def arrays_of(model, sides, vectors):
    """Return {name: array} of an .npz, with all numbers for predictions except ratings."""
    arrays = {}
    for side, counts in _counts(model, sides):
        value = side[:-1]
        arrays |= {f"{value}_ids": getattr(model, f"{value}_ids_"), f"{value}_ratings": counts}
        if vectors:
            arrays[f"{value}_vectors"] = vectors_of(model, side)
        else:
            arrays |= {
                f"{value}_{name}": getattr(model, f"{value}_{name}_") for name in ("factors", "bias", "baseline")
            }
    if not vectors and "items" in sides and model.neighbors_.shape[1]:
        for name in ("neighbors", "explicit_influences", "implicit_influences"):
            arrays[name] = getattr(model, f"{name}_")
    return arrays | {"mean": np.float64(model.mean_), "scale": np.array(model.scale_)}


def table_of(model, sides, vectors):
    """Return the Table of one side, or of users and then items."""
    parts = []
    for side, counts in _counts(model, sides):
        numbers = vectors_of(model, side)
        if not vectors:
            bias = getattr(model, f"{side[:-1]}_bias_")
            numbers = np.column_stack([bias, numbers[:, :-2]])
        ids = getattr(model, f"{side[:-1]}_ids_")
        parts.append((ids, np.full(len(ids), side[:-1]), counts, numbers))
    columns = [list(column) for column in zip(*parts, strict=True)]
    if len({ids.dtype.kind for ids in columns[0]}) > 1:  # one side has numbers, the other text
        columns[0] = [ids.astype(str) for ids in columns[0]]
    size = columns[3][0].shape[1]
    names = [f"vector_{f}" for f in range(size)] if vectors else ["bias", *(f"factor_{f}" for f in range(size - 1))]
    return Table(names, *map(np.concatenate, columns))


def _counts(model, sides):
    """Yield (side, ratings of each of its rows)."""
    for side in sides:
        yield side, model.rating_counts()[side == "items"]


def write_table(table, suffix, file):
    """Write side, id, ratings and the numbers, in csv as Python spells them."""
    from gpukit.io import tables

    if suffix == ".csv":
        check_ids(table.ids, "The id")
        tables.write_csv(file, _columns(table, tables.spell_as_python), len(table.ids))
    else:
        tables.write_parquet(file, _columns(table, np.ascontiguousarray), len(table.ids))


def _columns(table, spell):
    """Return {name: function of a slice of rows} of a Table's columns.

    spell: applied to the numbers.
    """
    columns = {"side": table.sides.__getitem__, "id": table.ids.__getitem__, "ratings": table.ratings.__getitem__}
    for column, name in enumerate(table.names):
        columns[name] = lambda part, column=column: spell(table.numbers[part, column])
    return columns
