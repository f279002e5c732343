"""Copies of ratings: .gkr (see io/sources.py), scipy's .npz, Parquet and csv.

A .gkr loads at disk speed.
"""

from __future__ import annotations

import functools
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import numpy as np

from gpukit import arrayfile
from gpukit._pool import parallel_map
from gpukit.arrayfile import refuse_surrogates
from gpukit.device import is_large
from gpukit.errors import DataError
from gpukit.io import archives, sinks, sources, trust
from gpukit.io.records import check_ids
from gpukit.parallel import ALONE
from gpukit.ratings import check, formats, repeats
from gpukit.ratings.adopt import as_values, ratings_of_matrix
from gpukit.ratings.check import are_pairs
from gpukit.ratings.table import DISTINCT, OPTIONAL, Ratings, set_state

if TYPE_CHECKING:
    from gpukit.typing import Path as PathLike

SUFFIXES = (".gkr", ".npz", ".parquet", ".csv")
KIND = sources.FORMATS["gkr"]
WAYS = {  # of scipy.sparse.save_npz: {format: its arrays}
    "coo": ("data", "row", "col"),
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
}
PARTS = {"format", "shape", *(name for names in WAYS.values() for name in names)}
IDS = ("user_ids", "item_ids")


def write_ratings(ratings: Ratings, path: PathLike) -> None:
    """Write ratings to path in the format of its suffix.

    The suffix is .gkr (binary copy), .npz (scipy sparse, with ids), .parquet or .csv. '-' (standard output) and a pipe
    without a suffix take csv. Times, weights and counts are written if present. The file is written atomically. Raises
    ParameterError for another suffix, DataError for ratings that checked() rejects.
    """
    suffix = check_copy(path)
    ratings = repeats.validate(ratings)
    for name in IDS:
        ids = getattr(ratings, name)
        if suffix in (".csv", ".parquet"):
            check_ids(ids, f"The {name[:4]} id")
        else:
            refuse_surrogates(name, ids)
    with sinks.open_sink(path) as file:
        if suffix in (".csv", ".parquet"):
            from gpukit.io import tables

            write = tables.write_parquet if suffix == ".parquet" else tables.write_csv
            write(file, _columns(ratings), len(ratings))
        elif suffix == ".gkr":
            ids = {name: getattr(ratings, name) for name in IDS}
            arrayfile.write(file, KIND.magic, {}, {**ratings.columns(), **ids})
        else:
            _write_npz(ratings, file)


def check_copy(path):
    """Return the suffix of an output path; ParameterError or DataError if unusable."""
    return sources.check_copy(path, SUFFIXES, ".csv")


def read_gkr(source, request, team=ALONE):
    """Return the Ratings of a binary copy in an open Source; one that is large for main memory stays on disk.

    request: formats.Request; times are read on request. The ranks of a Team check a part each; all stays on disk.
    """
    name, bounds, left = source.name, {}, () if request.times else ("times",)
    is_mapped = team.size > 1 or is_large(source.size)
    tasks = functools.partial(map_over_ranks, team)
    _, arrays = arrayfile.read_open(source.seekable(), name, KIND, is_mapped, left, bounds, tasks)
    lacking = {"users", "items", "values", "user_ids", "item_ids"} - set(arrays)
    beyond = set(arrays) - {field.name for field in fields(Ratings) if field.init}
    if lacking or beyond:
        what = f"it lacks {min(lacking)!r}" if lacking else f"{min(beyond)!r:.80} is no column of ratings"
        raise KIND.refuse(name, what)
    ratings = Ratings(**{name: np.asarray(array) for name, array in arrays.items()})  # no np.memmap
    wrong = check.fault(ratings, bounds)
    if wrong:
        raise DataError(f"{name} is damaged: {wrong} {sources.AGAIN}")
    return set_state(ratings, DISTINCT)  # pairs were checked when the copy was written


def map_over_ranks(team, check, tasks):
    """Return [(checksums, ranges) of check(task), ...] of all tasks; each rank of a Team does a part of them."""
    first, last = (len(tasks) * rank // team.size for rank in (team.rank, team.rank + 1))
    own = parallel_map(check, tasks[first:last])
    if team.size == 1:
        return own
    texts = [(crcs.hex(), [[low.item(), high.item()] for low, high in ranges]) for crcs, ranges in own]
    return [(bytes.fromhex(crcs), ranges) for part in team.allgather_json(texts) for crcs, ranges in part]


def read_npz(source, request):
    """Return the Ratings of a scipy .npz matrix in an open Source.

    Ids, weights, counts and, if request (a formats.Request) has them, times are read if gpukit wrote them.
    """
    name, wanted = source.name, {*PARTS, *OPTIONAL[not request.times :], *IDS}
    arrays, _ = archives.read_npz(source, wanted)
    try:
        matrix = _matrix(arrays)
    except KeyError as error:
        raise DataError(f"{name} is not a scipy sparse matrix (save_npz): it has no array named {error}.") from error
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} is not a scipy sparse matrix (save_npz), or is damaged: {error}.") from error
    if not all(value in arrays for value in IDS):
        check.check_declared(name, matrix.shape, matrix.nnz)
    plain = ratings_of_matrix(matrix.row, matrix.col, as_values(matrix.data), matrix.shape)
    ratings = replace(plain, **{value: array for value, array in arrays.items() if value in (*OPTIONAL, *IDS)})
    wrong = check.fault(ratings)
    if wrong:
        raise DataError(f"{name}: {wrong}")
    return ratings


def _matrix(arrays):
    """Return the COO matrix of a scipy .npz's arrays; KeyError, TypeError or ValueError for others."""
    import scipy.sparse

    kind, shape = str(arrays["format"].astype(str)), tuple(arrays["shape"].tolist())
    if kind not in WAYS:
        raise ValueError(f"its format is {kind!r:.80}, none of {', '.join(WAYS)}")
    if len(shape) != 2 or not all(isinstance(size, int) and 0 <= size < 2**31 for size in shape):
        raise ValueError(f"its shape is {shape!s:.80}")
    data, *places = (arrays[name] for name in WAYS[kind])
    if kind == "coo":
        for name, indices, size in zip(("row", "col"), places, shape):
            trust.check_indices(name, indices, len(data), size)
        return scipy.sparse.coo_matrix((data, tuple(places)), shape=shape)
    matrix = getattr(scipy.sparse, f"{kind}_matrix")((data, *places), shape=shape)
    trust.check_sparse("the matrix", matrix)
    return matrix.tocoo()


def _write_npz(ratings, file):
    np.savez(
        file,
        row=ratings.users,
        col=ratings.items,
        data=ratings.values,
        shape=np.array(ratings.shape),
        format=b"coo",
        user_ids=ratings.user_ids,
        item_ids=ratings.item_ids,
        **{name: column for name, column in ratings.columns().items() if name in OPTIONAL},
    )


def _columns(ratings):
    """Return {name: function of a slice of rows} of the csv and Parquet columns.

    Pairs have no rating column.
    """
    from gpukit.io import tables

    users, items = tables.words(ratings.user_ids), tables.words(ratings.item_ids)
    takes = {
        "user": lambda part: users.take(ratings.users[part]),
        "item": lambda part: items.take(ratings.items[part]),
    }
    for name, column in ratings.columns().items():
        if name not in formats.IDS and not (name == "values" and are_pairs(ratings)):
            takes[formats.WORDS[name]] = column.__getitem__
    return takes
