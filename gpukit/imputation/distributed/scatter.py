"""Scatter of a tensor's columns from rank 0 to a worker."""

import numpy as np

from gpukit.device.engine import engine
from gpukit.imputation.distributed.share import equal_parts, own
from gpukit.imputation.spectral.cpu import LARGE, in_units, unit_of

BLOCK = 64 << 20  # bytes of observed values sent at once
DTYPES = (np.float32, np.float64)


def describe_tensor(tensor):
    """Return a Tensor's description in numbers, for `create_share` on all ranks."""
    m, n = tensor.observed.shape[1:]
    return [*tensor.basis.vectors.shape, m, n, DTYPES.index(tensor.dtype.type), tensor.hidden is not None]


def create_share(worker, numbers, tensor=None):
    """Return this rank's share (cpu.Part, gpu.Part) of rank 0's tensor; numbers: `describe_tensor`."""
    N, K, m, n, code, entries = map(int, numbers)
    team, dtype = worker.team, np.dtype(DTYPES[code])
    parts = equal_parts(m * n, K, team.size)
    rows = team.broadcast(None if tensor is None else tensor.rows)
    part = engine(worker.device, __package__).Part(worker, (m, n), rows)
    if tensor is None:
        vectors = part.xp.empty((N, K), dtype)
    else:
        vectors = part.vectors_of(tensor.basis, dtype, worker.workspace)
    worker.lines.broadcast(part.for_transport(vectors))
    hidden = scatter_hidden(team, tensor, parts) if entries else None
    part.join(worker, parts, vectors, hidden, dtype)
    part.begin(observed_part(part, N, tensor), rows)
    return part


def scatter_hidden(team, tensor, parts):
    """Return this rank's columns of the missing entries, (rows, columns) bool."""
    if team.rank:
        return team.receive(0)
    for rank in team.others:
        team.send(rank, tensor.hidden[:, own(parts.columns, rank)])
    return tensor.hidden[:, own(parts.columns, 0)]


def observed_part(part, count, tensor):
    """Return the own columns of observed values on the device.

    Shape (count, own columns), in the ranks' common unit, part.unit.
    """
    observed = None if tensor is None else tensor.observed
    flat = columns_of(part, count, observed)
    extremes = np.array([float(flat.max()), -float(flat.min())])
    largest = float(part.team.allreduce(extremes, "max").max())
    if 1 / LARGE <= largest <= LARGE:
        return flat
    unit = part.team.broadcast(None if tensor is None else np.array([unit_of(observed)]))
    part.unit = float(unit[0])
    return columns_of(part, count, None if tensor is None else in_units(observed, part.unit))


def columns_of(part, count, observed):
    """Return the own columns of rank 0's tensor on the device.

    Shape (count, own columns) of (count, m, n), sent in blocks of vertices.
    """
    edges, mine = part.parts.columns, part.own_columns
    flat = part.empty(count, mine.stop - mine.start)
    rows_per_block = max(1, BLOCK // (int(edges[-1]) * part.dtype.itemsize))
    blocks = [slice(first, min(first + rows_per_block, count)) for first in range(0, count, rows_per_block)]
    if observed is None:
        for block in blocks:
            part.lines.receive(0, part.for_transport(flat[block]))
        return flat
    buffer = part.empty(min(rows_per_block, count), edges[-1])
    for block in blocks:
        there = buffer[: block.stop - block.start]
        part.copy_to_device(observed[block].reshape(len(there), -1), there)
        for rank in part.others:
            part.lines.send(rank, part.for_transport(part.xp.ascontiguousarray(there[:, own(edges, rank)])))
        flat[block] = there[:, mine]
    return flat
