"""Broadcast a table read by one rank to a parallel.Team."""

import json

import numpy as np

from gpukit.ratings.table import Ratings, marked

PIECE = 256 << 20  # bytes per message: many MPI libraries count bytes in 31 bits


def read_by_first(read, team):
    """Return the Ratings read by rank 0 on all ranks.

    read: function without arguments; its errors on rank 0 end all ranks of the Team.
    """
    if team.size == 1:
        return read()
    table = read() if team.rank == 0 else None
    header = None
    if table is not None:
        arrays = {**table.columns(), "user_ids": as_numbers(table.user_ids), "item_ids": as_numbers(table.item_ids)}
        texts = [name for name in ("user_ids", "item_ids") if getattr(table, name).dtype.kind == "U"]
        header = np.frombuffer(json.dumps([list(arrays), texts, table._state]).encode(), np.uint8)
    names, texts, state = json.loads(bytes(team.broadcast(header)))
    got = {name: broadcast(None if table is None else arrays[name], team) for name in names}
    for name in texts:
        got[name] = as_texts(got[name])
    return table if team.rank == 0 else marked(Ratings(**got), state)


def broadcast(array, team):
    """Broadcast the array of rank 0 to all ranks, in pieces."""
    shape = team.broadcast(None if array is None else np.array(array.shape))
    flat, pieces = None if array is None else array.reshape(-1), []
    first = team.broadcast(None if flat is None else flat[:0])
    size = int(np.prod(shape))
    step = max(1, PIECE // first.dtype.itemsize)
    for begin in range(0, size, step):
        pieces.append(team.broadcast(None if flat is None else flat[begin : begin + step]))
    if array is not None:
        return array
    return (pieces[0] if len(pieces) == 1 else np.concatenate([first, *pieces])).reshape(shape)


def as_numbers(ids):
    """Return ids as they are sent: texts as (n, characters) uint32."""
    if ids.dtype.kind != "U":
        return ids
    return np.ascontiguousarray(ids).view(np.uint32).reshape(len(ids), ids.dtype.itemsize // 4)


def as_texts(numbers):
    """Reverse `as_numbers`."""
    return numbers.view(f"U{numbers.shape[1]}").reshape(len(numbers))
