"""Exports of a fitted model: .npz, .csv, .parquet, and vectors for an index.

Vectors are [u_i, mean + b_i, 1] of users and [v_j, 1, b_j] of items: their product is the prediction without
neighbours, in units of the ratings and not clipped, so that an inner-product index finds a user's best items. Weights
between items, of clicks, are in .npz alone: row j, column k is added to the score of item k by a click on item j.
"""

import warnings
from typing import Literal, get_args

import numpy as np

from gpukit.arrayfile import refuse_surrogates
from gpukit.io import sinks, sources
from gpukit.io.records import check_ids

SUFFIXES = (".npz", ".csv", ".parquet")
Side = Literal["both", "users", "items"]
SIDES = get_args(Side)


def check_export(path):
    """Return the suffix for writing to path.

    A stream without one has .csv. Raises ParameterError or DataError for a path that cannot be written.
    """
    if sinks.is_stream(path) and not str(path).endswith(SUFFIXES):
        return ".csv"
    return sources.check_copy(path, SUFFIXES)


def export(model, path, side, vectors):
    """Write the file of Answering.export."""
    suffix, sides = check_export(path), [one for one in ("user", "item") if side in ("both", f"{one}s")]
    for one in sides:
        refuse_surrogates(f"{one}_ids", getattr(model, f"{one}_ids_"))
    if (vectors or suffix != ".npz") and model._state.item_weights.size:
        warnings.warn(
            "The model's weights between items, which are part of its scores, are not written: export to .npz without "
            "vectors has them.",
            stacklevel=3,
        )
    with sinks.open_sink(path) as file:
        if suffix == ".npz":
            np.savez(file, **arrays_of(model, sides, vectors))
        else:
            write_table(model, sides, vectors, suffix, file)


def vectors_of(model, side):
    """Return (rows, F + 2) float32 vectors of one side, as the top of this file defines them."""
    factors, bias = (getattr(model, f"{side}_{name}_") for name in ("factors", "bias"))
    ones = np.ones_like(bias)
    ends = (bias + np.float32(model.mean_), ones) if side == "user" else (ones, bias)
    return np.column_stack([factors, *ends])


def arrays_of(model, sides, vectors):
    """Return {name: array} of an .npz, with all numbers for predictions except ratings."""
    arrays, counts = {}, dict(zip(("user", "item"), model.rating_counts()))
    kinds = ("ids",) if vectors else ("ids", "factors", "bias", "baseline")
    names = [f"{side}_{kind}" for side in sides for kind in kinds]
    if not vectors and "item" in sides and model.neighbors_.shape[1]:
        names += ["neighbors", "explicit_influences", "implicit_influences"]
    if not vectors and "item" in sides:
        names_of_lists = "item_weights", "weight_starts", "weight_items"
        arrays |= {name: numbers for name in names_of_lists if (numbers := getattr(model._state, name)).size}
    for side in sides:
        arrays[f"{side}_ratings"] = counts[side]
        arrays |= {f"{side}_vectors": vectors_of(model, side)} if vectors else {}
    arrays |= {name: getattr(model, f"{name}_") for name in names}
    return arrays | {"mean": np.float64(model.mean_), "scale": np.array(model.scale_)}


def write_table(model, sides, vectors, suffix, file):
    """Write side, id, ratings and the numbers of users, items or both, in csv as Python spells them."""
    from gpukit.io import tables

    ids, counts = [getattr(model, f"{side}_ids_") for side in sides], dict(zip(("user", "item"), model.rating_counts()))
    if len({known.dtype.kind for known in ids}) > 1:  # one side has numbers, the other text
        ids = [known.astype(str) for known in ids]
    numbers = [vectors_of(model, side) for side in sides]
    if not vectors:
        numbers = [np.column_stack([getattr(model, f"{side}_bias_"), own[:, :-2]]) for side, own in zip(sides, numbers)]
    numbers, ids, is_text = np.concatenate(numbers), np.concatenate(ids), suffix == ".csv"
    size = numbers.shape[1]
    names = [f"vector_{f}" for f in range(size)] if vectors else ["bias", *(f"factor_{f}" for f in range(size - 1))]
    whose = np.repeat(sides, [len(counts[side]) for side in sides])
    columns = {"side": whose, "id": ids, "ratings": np.concatenate([counts[side] for side in sides])}
    takes = {name: column.__getitem__ for name, column in columns.items()}
    for column, name in enumerate(names):
        takes[name] = lambda part, column=column: np.ascontiguousarray(numbers[part, column])
    if is_text:
        check_ids(ids, "The id")
    (tables.write_csv if is_text else tables.write_parquet)(file, takes, len(ids))
