"""A distributed fit: rank 0 fits and sends requests, the others answer and receive the model.

The path, all choices, errors on hidden values and messages are computed by rank 0, as without ranks. Ranks therefore
cannot diverge and deadlock, even if their libraries round differently.

Rank 0 scatters the columns of its tensor.
"""

import json
import warnings
from typing import NamedTuple

import numpy as np

from gpukit import device as devices
from gpukit import persist
from gpukit.base.arrays import ensure_host
from gpukit.device.workspace import Workspace
from gpukit.imputation.distributed.share import FEWEST, LEAST, Share, equal_parts, part_of_rank
from gpukit.imputation.spectral import cpu
from gpukit.imputation.spectral.cpu import TensorCompletion
from gpukit.parallel.current_team import check_distinct_gpus, make_transport

END, BEGIN, LARGEST, STEP, SPECTRUM, MISSING = range(6)
ALONE = (
    "nothing was shared out: ranks share the work of method='spectral', on tensors of {:,} numbers or more that have "
    "{} columns and spectral slices for each rank; {!r} filled in, by rank 0 itself."
)


class Worker:
    """This process's rank in a parallel.Team; constructed on all ranks together.

    device: device.Device of this rank, a CPU or a GPU of its own; workspace: of the run (device.workspace.Workspace).
    lines: array transport (parallel.team.HostTransport). shared: True on rank 0 if a tensor was distributed.
    """

    def __init__(self, team, device, workspace):
        self.team, self.device, self.workspace = team, device, workspace
        check_distinct_gpus(team, device)
        self.lines = make_transport(team, device, lambda text: warnings.warn(text, UserWarning, stacklevel=2))
        self.shared = False

    def ask(self, what, *numbers):
        """Broadcast a request of rank 0: a number, then arrays or numbers, flat."""
        self.team.broadcast(np.concatenate([[float(what)], *(np.ravel(each) for each in numbers)]))


class Tensor(NamedTuple):
    """Rank 0's tensor: basis (graphs.basis.Basis); observed (N, m, n), 0 where missing.

    rows: indices of incomplete vertices; hidden (rows, m n) bool, their missing entries, or None: all; dtype of the
    computation.
    """

    basis: object
    observed: np.ndarray
    rows: np.ndarray
    hidden: np.ndarray | None
    dtype: np.dtype


class Part(Share, TensorCompletion):
    """A rank's share of a tensor on the CPU: see share.Share; gpu.py has the class for a GPU."""

    journeys = None

    @staticmethod
    def product(a, b, out, add=False):
        """Compute out = a b, or out + a b."""
        if not add:
            np.matmul(a, b, out=out)
            return
        for first in range(0, out.shape[1], cpu.COLUMNS):
            out[:, first : first + cpu.COLUMNS] += a @ b[:, first : first + cpu.COLUMNS]

    @staticmethod
    def for_transport(array):
        """Return an array in the form that transports take."""
        return array


def part_type(device):
    """Return the Part of a device."""
    if not device.is_cuda:
        return Part
    from gpukit.imputation.distributed import gpu

    return gpu.GpuPart


class DistributedCompletion(TensorCompletion):
    """TensorCompletion of a whole worker, on rank 0; basis, observed, mask, dtype as there."""

    def __init__(self, worker, basis, observed, mask, dtype):
        rows = cpu.lacking(mask)
        self.worker, self.mask, self.observed, self.shape = worker, mask, observed, observed.shape[1:]
        self.hidden = cpu.hidden_entries(mask, rows)
        tensor = Tensor(basis, observed, rows, self.hidden, np.dtype(dtype))
        numbers = describe_tensor(tensor)
        worker.ask(BEGIN, numbers)
        self.part, worker.shared = create_share(worker, numbers, tensor), True
        self.rounding = self.part.rounding

    @property
    def seconds(self):
        """{part of a step: seconds} of rank 0."""
        return self.part.seconds

    def largest(self):
        """See cpu.TensorCompletion."""
        return self.answer(LARGEST)

    def spectrum(self, count):
        """See cpu.TensorCompletion."""
        return self.answer(SPECTRUM, count)[:, :count]

    def step(self, lam, cap=None, momentum=0.0):
        """See cpu.TensorCompletion."""
        return self.answer(STEP, momentum, lam, [] if cap is None else cap)

    @property
    def now(self):
        """Estimate of all incomplete vertices, (rows, m n) on the host."""
        return self.answer(MISSING)

    def given_back(self, result):
        """Return an array of `now` itself."""
        return result

    def answer(self, what, *numbers):
        """Return the combined result of all ranks."""
        numbers = np.concatenate([np.ravel(each) for each in (*numbers, [])])
        self.worker.ask(what, numbers)
        return ANSWERS[what](self.part, numbers)


def serve(worker):
    """Answer requests until rank 0 ends them, on all ranks but 0."""
    part = None
    while (what := int((question := worker.team.broadcast())[0])) != END:
        if what == BEGIN:
            part = None  # release memory first
            part = create_share(worker, question[1:])
        else:
            ANSWERS[what](part, question[1:])


def largest(part, numbers):
    """Return the largest singular value of every slice, on rank 0."""
    return concatenate(part, part.largest())


def spectrum(part, numbers):
    """Return the leading singular values of every slice, on rank 0."""
    return concatenate(part, part.spectrum(int(numbers[0])))


def step(part, numbers):
    """Run a step; on rank 0 return (change, size, ranks (K,))."""
    K = int(part.ranges.slices[-1])
    momentum, lam, cap = float(numbers[0]), numbers[1 : 1 + K], numbers[1 + K :].astype(np.int32)
    change, size, ranks = part.step(lam, cap if len(cap) else None, momentum)
    collected_parts = part.team.gather(np.concatenate(([change, size], ranks)))
    if collected_parts is None:
        return None
    change, size = np.sum([result[:2] for result in collected_parts], axis=0).tolist()
    return change, size, np.concatenate([result[2:] for result in collected_parts]).astype(np.int32)


def missing(part, numbers):
    """Return the estimate on the host of rank 0, (rows, m n)."""
    edges, team = part.ranges.columns, part.team
    if team.rank:
        part.lines.send(0, part.for_transport(part.now))
        return None
    out = np.empty((len(part.now), int(edges[-1])), part.dtype)
    out[:, part.own_columns] = ensure_host(part.now)
    for rank in team.others:
        target = part.empty(len(out), edges[rank + 1] - edges[rank])
        part.lines.receive(rank, part.for_transport(target))
        out[:, edges[rank] : edges[rank + 1]] = ensure_host(target)
    return out


def concatenate(part, array):
    """Return all ranks' rows on rank 0."""
    collected_parts = part.team.gather(array)
    return None if collected_parts is None else np.concatenate(collected_parts)


ANSWERS = {LARGEST: largest, STEP: step, SPECTRUM: spectrum, MISSING: missing}


DTYPES = (np.float32, np.float64)


def describe_tensor(tensor):
    """Return a Tensor's description in numbers, for `create_share` on all ranks."""
    m, n = tensor.observed.shape[1:]
    return [*tensor.basis.vectors.shape, m, n, DTYPES.index(tensor.dtype.type), tensor.hidden is not None]


def create_share(worker, numbers, tensor=None):
    """Return this rank's share  of rank 0's tensor; numbers: `describe_tensor`."""
    N, K, m, n, code, entries = map(int, numbers)
    team, dtype = worker.team, np.dtype(DTYPES[code])
    parts = equal_parts(m * n, K, team.size)
    rows = team.broadcast(None if tensor is None else tensor.rows)
    part = part_type(worker.device)(worker, (m, n), rows)
    if tensor is None:
        vectors = part.xp.empty((N, K), dtype)
    else:
        vectors = part.xp.ascontiguousarray(part.vectors_of(tensor.basis, dtype))
    worker.lines.broadcast(part.for_transport(vectors))
    hidden = scatter_hidden(team, tensor, parts) if entries else None
    part.join(worker, parts, vectors, hidden, dtype)
    part.begin(columns_of(part, N, None if tensor is None else tensor.observed), rows)
    return part


def scatter_hidden(team, tensor, parts):
    """Return this rank's columns of the missing entries, (rows, columns) bool."""
    if team.rank:
        return team.receive(0)
    for rank in team.others:
        team.send(rank, tensor.hidden[:, part_of_rank(parts.columns, rank)])
    return tensor.hidden[:, part_of_rank(parts.columns, 0)]


def columns_of(part, count, observed):
    """Return the own columns of rank 0's tensor on the device.

    Shape (count, own columns) of (count, m, n), sent in blocks of vertices.
    """
    edges, span = part.ranges.columns, part.own_columns
    flat = part.empty(count, span.stop - span.start)
    most = 64 << 20  # bytes of a block
    rows_per_block = max(1, most // (int(edges[-1]) * part.dtype.itemsize))
    blocks = [slice(first, min(first + rows_per_block, count)) for first in range(0, count, rows_per_block)]
    if observed is None:
        for block in blocks:
            part.lines.receive(0, part.for_transport(flat[block]))
        return flat
    buffer = part.empty(min(rows_per_block, count), edges[-1])
    for block in blocks:
        target = buffer[: block.stop - block.start]
        part.copy_to_device(observed[block].reshape(len(target), -1), target)
        for rank in part.others:
            part.lines.send(rank, part.for_transport(part.xp.ascontiguousarray(target[:, part_of_rank(edges, rank)])))
        flat[block] = target[:, span]
    return flat


def wrap_progress(worker, progress):
    """Wrap rank 0's progress callback with a check of other ranks.

    Without a Worker the callback is returned unchanged.
    """
    if worker is None:
        return progress

    def report(*values):
        worker.team.check()
        if progress:
            progress(*values)

    return report


def finish(worker, model):
    """End the requests on rank 0 and send the fitted model.

    Ranks that request it get it.
    """
    if worker is None:
        return
    worker.ask(END)
    if not worker.shared and not model._held.mask.all():
        warnings.warn(ALONE.format(FEWEST, LEAST, model.method_), stacklevel=3)
    if any(worker.team.allgather_json(False)):
        give(worker.team, model)


def give(team, model):
    """Broadcast the file contents of a fitted model."""
    facts, arrays = model._packed()
    forms = {name: [array.dtype.str, array.shape] for name, array in arrays.items()}
    header = json.dumps([facts, forms], default=persist.native).encode()
    team.broadcast(np.frombuffer(header, np.uint8))
    for array in arrays.values():
        team.broadcast(np.ascontiguousarray(array).reshape(-1).view(np.uint8))


def take(team, model):
    """Receive the model of rank 0."""
    facts, forms = json.loads(bytes(team.broadcast()))
    arrays = {name: team.broadcast().view(kind).reshape(shape) for name, (kind, shape) in forms.items()}
    model._unpack(facts, persist.Arrays("What rank 0 has sent", arrays))


def help_fit(model, team, keep=True):
    """Take part in a fit of a GraphImputer.

    On all ranks but 0; keep: receive the model at the end.
    """
    model.check()
    device = devices.resolve(model.device)
    with Workspace() as workspace, devices.translate_memory_errors(device, "The imputation"):
        serve(Worker(team, device, workspace))
    if any(team.allgather_json(keep)):
        take(team, model)
    return model
