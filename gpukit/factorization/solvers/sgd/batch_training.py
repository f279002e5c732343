"""Training in batches, for either device."""

from typing import NamedTuple

import numpy as np

from gpukit.device.engine import engine
from gpukit.factorization.solvers.rates import row_rates
from gpukit.factorization.solvers.sgd import batch_plan, schedule


class CutBatch(NamedTuple):
    """A batch on the device: its chunks and the starts of the minor rows' slots, cut by the device's `cut`, and the
    slots."""

    chunks: tuple
    starts: tuple
    slots: np.ndarray


class Batches(NamedTuple):
    """All CutBatches and what they share.

    rows, at_once (rows,) int32 of the minor rows by falling count, cut by the device's `cut`; seen: memory for the
    copies of a batch; steps: of the device.
    """

    parts: list
    rows: tuple
    at_once: tuple
    seen: np.ndarray
    steps: object


class BatchPlan(NamedTuple):
    """Batches on the host, see batch_plan.chunks_of and batch_plan.minor_rows.

    sizes: ratings of each batch.
    """

    chunks: np.ndarray
    firsts: np.ndarray
    longs: np.ndarray
    order: np.ndarray
    at_once: np.ndarray
    long: int
    sizes: list


def plan_batches(task, width):
    """Return the BatchPlan of a solvers.Task; width: numbers stored for a rating."""
    settings, side = task.settings, task.data.side
    minor_starts = side.minor_starts if task.streamed else task.steps.preparing.fetch(side.minor_starts)
    counts = np.diff(side.indptr), np.diff(minor_starts)
    rates = [row_rates(settings.rates, settings.learning_rate, side_counts) for side_counts in counts]
    batches = batch_plan.batch_count(int(counts[0].sum()), 4 * width)
    chunks, firsts, longs = batch_plan.chunks_of(counts[0], rates[0], batches, settings.seed)
    order, at_once, long = batch_plan.minor_rows(counts[1], rates[1], batches)
    sizes = [int(chunks[first:last, 2].sum()) for first, last in zip(firsts, firsts[1:])]
    return BatchPlan(chunks, firsts, longs, order, at_once, long, sizes)


def arrange(task):
    """Return the Batches of a solvers.Task."""
    steps, side = engine(task.device, __package__), task.data.side
    width = steps.seen_width(task.layout)
    chunks, firsts, longs, order, at_once, long, sizes = plan_batches(task, width)
    chunks, ranks = steps.resident(chunks, np.int64), steps.resident(np.argsort(order), np.int32)
    parts = []
    for first, last, of_long, size in zip(firsts, firsts[1:], longs, sizes):
        if size:
            batch_chunks = chunks[first:last]
            starts, slots = minor_segments(batch_chunks, size, side.minor, ranks, steps)
            parts.append(CutBatch(steps.cut(batch_chunks, int(of_long)), steps.cut(starts, long, 1), slots))
    rows, at_once = (steps.cut(steps.resident(array, np.int32), long) for array in (order, at_once))
    return Batches(parts, rows, at_once, steps.empty((max(sizes), width), np.float32), steps)


def minor_segments(chunks, size, minor, ranks, steps):
    """Return (starts, slots) of the minor rows, by rank, for the `size` ratings of a batch with these chunks."""
    keys, slots = steps.empty(size, np.uint64), steps.empty(size, np.uint32)
    steps.run("key_batch", chunks, minor, ranks, keys, slots)
    rows = ranks.shape[0]
    bits = max(1, (rows - 1).bit_length())
    keys, slots, _ = steps.sort_by_bits(keys, 0, bits, slots)
    return steps.row_starts(keys, 0, bits, rows), slots


class BatchTraining:
    """Epochs of a session in batches, at the rates of settings.Settings."""

    def __init__(self, session, task, batches):
        self.session, self.settings, self.batches = session, task.settings, batches
        self.batch = session.batch_of(task.data.side, task.data.query)

    def epoch(self, number):
        """Make one pass over all ratings; return when complete."""
        self.step(self.settings.epoch_rates(number), schedule.turn_key(self.settings.seed, number))

    def step(self, rates, turn):
        """Run `epoch` at given Rates; turn: key of the order of the batches."""
        self.start(rates, turn)
        self.session.finish()

    def start(self, rates, turn):
        """Run `step`; on a GPU it is queued."""
        layout, parameters, (parts, *minor, seen, steps) = self.session.layout, self.session.parameters, self.batches
        for part in schedule.order_tables(parts, turn):
            steps.walk_major(layout, part.chunks, self.batch, parameters, rates, seen)
            steps.walk_minor(layout, part.starts, part.slots, *minor, seen, parameters.Q, rates)
