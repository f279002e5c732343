"""Redistribution of a tensor's shares to other parts."""

import numpy as np


def move(part, parts):
    """Redistribute a Share to other Parts, with the same estimate and subspaces."""
    old, part.parts = part.parts, parts
    if part.hidden is not None:
        part.hidden = redistribute(part, part.hidden.view(np.uint8), old.columns, 1).view(np.bool_)
    now, before = (redistribute(part, array, old.columns, 1) for array in (part.now, part.before))
    part.C = redistribute(part, part.C, old.slices, 0)
    warm, seconds = part.warm, part.seconds
    part.make_pieces()
    part.start(now, before)
    part.seconds.update(seconds)
    columns = 0 if warm is None or warm.subspace is None else warm.subspace.k
    widths = {int(width[0]) for width in part.team.allgather(np.array([columns]))}
    if widths == {columns} and columns:  # otherwise subspaces restart
        restore_subspaces(part, warm, old)


def restore_subspaces(part, warm, old):
    """Restore the WarmThresholding of a Share from `warm`, of old Parts; on all ranks."""
    part.warm.ranks, part.warm.values = (gather_rows(part, array) for array in (warm.ranks, warm.values))
    basis, gone = warm.subspace.state()
    part.warm.widen(warm.subspace.k)
    basis = redistribute(part, basis, old.slices, 0)
    gone = redistribute(part, gone.view(np.uint8), old.slices, 0).view(np.bool_)
    part.warm.subspace.restore(basis, gone, (warm.subspace.calls, warm.subspace.cold))


def gather_rows(part, array):
    """Return this rank's rows of all ranks' host arrays; None if they are None."""
    return None if array is None else np.concatenate(part.team.allgather(array))[part.own_slices]


def redistribute(part, array, old, axis):
    """Return this rank's new part of a distributed array.

    The part has rows (axis 0) or columns (axis 1). array: its old part; old: edges of the old partition.
    """
    new = part.parts.slices if axis == 0 else part.parts.columns
    team, mine = part.team, part.team.rank
    shape = list(array.shape)
    shape[axis] = int(new[mine + 1] - new[mine])
    out = part.empty(tuple(shape), array.dtype)
    away = {rank: place(axis, overlap(old, mine, new, rank), old[mine]) for rank in range(team.size)}
    home = {rank: place(axis, overlap(old, rank, new, mine), new[mine]) for rank in range(team.size)}
    stay = array[away.pop(mine)]
    out[home.pop(mine)] = stay
    outgoing = {rank: part.contiguous(array[where]) for rank, where in away.items()}
    incoming = {rank: part.empty(out[where].shape, array.dtype) for rank, where in home.items()}
    part.lines.alltoall(nonempty(part, outgoing), nonempty(part, incoming), part.journeys)
    part.lines.wait(part.journeys)
    for rank, where in home.items():
        out[where] = incoming[rank]
    return out


def overlap(one, rank, other, its):
    """Return the range (first, last) common to two ranks' parts.

    Empty if last is first.
    """
    first, last = max(one[rank], other[its]), min(one[rank + 1], other[its + 1])
    return int(first), int(max(first, last))


def place(axis, range_, start):
    """Return the index of a range of rows or columns.

    The array begins at start.
    """
    where = slice(range_[0] - int(start), range_[1] - int(start))
    return where if axis == 0 else (slice(None), where)


def nonempty(part, arrays):
    """Return {rank: array for transports} of nonempty arrays."""
    return {rank: part.for_transport(array) for rank, array in arrays.items() if array.size}
