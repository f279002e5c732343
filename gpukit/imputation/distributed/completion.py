"""A tensor distributed over the ranks of a worker: rank 0 has a TensorCompletion and sends requests, the others answer.

The path, all choices, errors on hidden values and messages are computed by rank 0, as without ranks. Ranks therefore
cannot diverge and deadlock, even if their libraries round differently.
"""

from typing import NamedTuple

import numpy as np

from gpukit.base.arrays import on_host
from gpukit.imputation.distributed.scatter import create_share, describe_tensor
from gpukit.imputation.spectral.cpu import hidden_entries, lacking, out_of_units

END, HERE, BEGIN, LARGEST, STEP, SPECTRUM, MISSING = range(7)


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


class DistributedCompletion:
    """TensorCompletion (spectral/steps.py) of a whole worker, on rank 0; basis, observed, mask, dtype as there."""

    def __init__(self, worker, basis, observed, mask, dtype):
        rows = lacking(mask)
        self.worker, self.mask, self.shape = worker, mask, observed.shape[1:]
        self.tensor = Tensor(basis, observed, rows, hidden_entries(mask, rows), np.dtype(dtype))
        numbers = describe_tensor(self.tensor)
        worker.ask(BEGIN, numbers)
        self.part, worker.shared = create_share(worker, numbers, self.tensor), True
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

    def missing(self):
        """See cpu.TensorCompletion."""
        flat = self.answer(MISSING)
        estimate = flat.ravel() if self.tensor.hidden is None else flat[self.tensor.hidden]
        estimate = estimate.reshape(-1, *self.shape) if self.mask.ndim == 1 else estimate
        return out_of_units(estimate, self.part.unit, self.tensor.observed.dtype)

    def completed(self):
        """See cpu.TensorCompletion."""
        out = np.array(self.tensor.observed)
        out[~self.mask] = self.missing()
        return out

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
        elif what != HERE:
            ANSWERS[what](part, question[1:])


def largest(part, numbers):
    """Return the largest singular value of every slice, on rank 0."""
    return concatenate(part, part.largest())


def spectrum(part, numbers):
    """Return the leading singular values of every slice, on rank 0."""
    return concatenate(part, part.spectrum(int(numbers[0])))


def step(part, numbers):
    """Run a step; on rank 0 return (change, size, ranks (K,))."""
    K = int(part.parts.slices[-1])
    momentum, lam, cap = float(numbers[0]), numbers[1 : 1 + K], numbers[1 + K :].astype(np.int32)
    change, size, ranks = part.step(lam, cap if len(cap) else None, momentum)
    collected_parts = part.worker.collected(np.concatenate(([change, size], ranks)))
    if collected_parts is None:
        return None
    change, size = np.sum([result[:2] for result in collected_parts], axis=0).tolist()
    return change, size, np.concatenate([result[2:] for result in collected_parts]).astype(np.int32)


def missing(part, numbers):
    """Return the estimate on the host of rank 0, (rows, m n)."""
    edges, team = part.parts.columns, part.team
    if team.rank:
        part.lines.send(0, part.for_transport(part.now))
        return None
    out = np.empty((len(part.now), int(edges[-1])), part.dtype)
    out[:, part.own_columns] = on_host(part.now)
    for rank in team.others:
        there = part.empty(len(out), edges[rank + 1] - edges[rank])
        part.lines.receive(rank, part.for_transport(there))
        out[:, edges[rank] : edges[rank + 1]] = on_host(there)
    return out


def concatenate(part, array):
    """Return all ranks' rows on rank 0."""
    collected_parts = part.worker.collected(array)
    return None if collected_parts is None else np.concatenate(collected_parts)


ANSWERS = {LARGEST: largest, STEP: step, SPECTRUM: spectrum, MISSING: missing}
