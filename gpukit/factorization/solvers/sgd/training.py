"""Training by stochastic gradient descent, for either device.

Training in batches, for either device: partition of the ratings into batches, of a row's ratings into steps.
"""

from typing import NamedTuple

import numpy as np

from gpukit.factorization.constants import RULES
from gpukit.factorization.model.layout import EXTRA
from gpukit.factorization.solvers.rates import row_rates
from gpukit.factorization.solvers.sgd import schedule
from gpukit.factorization.solvers.sgd.schedule import chunk_table


def batch_count(n_ratings, row_bytes):
    """Return the number of batches of n_ratings ratings, with row_bytes bytes for each rating."""
    return max(RULES.least_batches, -(-n_ratings * row_bytes // RULES.seen_bytes))


def memory(n_ratings, layout):
    """Return the bytes that the batches of n_ratings ratings take on a device, for a layout.Layout."""
    row_bytes = 4 * (layout.lanes * layout.factors + EXTRA)
    return 4 * n_ratings + min(RULES.seen_bytes, -(-n_ratings // RULES.least_batches) * row_bytes)


def concurrent_steps(rates):
    """Return the number of concurrent steps of rows with these learning rates, (rows,) int64.

    It is a power of two up to RULES.most_concurrent, within the bound schedule.STALENESS.
    """
    most = np.clip(schedule.STALENESS / np.maximum(rates, 1e-9), 1, RULES.most_concurrent)
    return (2 ** np.floor(np.log2(most))).astype(np.int64)


def minor_rows(counts, rates, batches):
    """Return (order (rows,), at_once (rows,), long) of minor rows with counts ratings and about these learning rates.

    order: by falling count; at_once: concurrent steps of these rows; long: number of rows that a block processes.
    """
    order = np.argsort(-counts, kind="stable")
    return order, concurrent_steps(rates)[order], int(np.count_nonzero(counts > RULES.long_row * batches))


def chunks_of(counts, rates, batches, seed):
    """Return (chunks (n, 5) int64, firsts (batches + 1,), longs (batches,)) of major rows with counts ratings.

    A chunk is (row, first rating, ratings, first slot in its batch, concurrent steps). Batch b has the chunks
    firsts[b]:firsts[b + 1], by falling length; a block processes each of the first longs[b].
    """
    first_batch, _ = schedule.deal_rows(counts, batches, seed)
    pieces = np.clip(-(-counts // RULES.batch_piece), 0, batches)
    row = np.repeat(np.arange(len(counts)), pieces)
    piece = np.arange(len(row)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    low, high = (part * counts[row] // pieces[row] for part in (piece, piece + 1))
    batch, length = (first_batch[row] + piece) % batches, high - low
    order = np.lexsort((-length, batch))
    row, low, length, batch = (column[order] for column in (row, low, length, batch))
    firsts = np.searchsorted(batch, np.arange(batches + 1))
    before = np.append(0, np.cumsum(length))
    slot = before[:-1] - before[firsts[batch]]
    starts = (np.cumsum(counts) - counts)[row]
    chunks = np.stack([row, starts + low, length, slot, concurrent_steps(rates)[row]], axis=1)
    longs = np.bincount(batch[length > RULES.long_row], minlength=batches)
    return np.ascontiguousarray(chunks, np.int64), firsts, longs


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


def arrange_batches(task):
    """Return the Batches of a solvers.Task."""
    steps, side, settings = task.steps, task.data.side, task.settings
    counts, width = (np.diff(side.indptr), np.diff(steps.fetch(side.minor_starts))), steps.seen_width(task.layout)
    rates = [row_rates(settings.rates, settings.learning_rate, side_counts) for side_counts in counts]
    batches = batch_count(int(counts[0].sum()), 4 * width)
    chunks, firsts, longs = chunks_of(counts[0], rates[0], batches, settings.seed)
    *order, long = minor_rows(counts[1], rates[1], batches)
    sizes = [int(chunks[first:last, 2].sum()) for first, last in zip(firsts, firsts[1:])]
    chunks, ranks = steps.resident(chunks, np.int64), steps.resident(np.argsort(order[0]), np.int32)
    parts = []
    for first, last, of_long, size in zip(firsts, firsts[1:], longs, sizes):
        if size:
            batch_chunks = chunks[first:last]
            starts, slots = minor_segments(batch_chunks, size, side.minor, ranks, steps)
            parts.append(CutBatch(steps.cut(batch_chunks, int(of_long)), steps.cut(starts, long, 1), slots))
    order = (steps.cut(steps.resident(array, np.int32), long) for array in order)
    return Batches(parts, *order, steps.empty((max(sizes), width), np.float32), steps)


def minor_segments(chunks, size, minor, ranks, steps):
    """Return (starts, slots) of the minor rows, by rank, for the `size` ratings of a batch with these chunks."""
    keys, slots = steps.empty(size, np.uint64), steps.empty(size, np.uint32)
    steps.run("key_batch", chunks, minor, ranks, keys, slots)
    rows = ranks.shape[0]
    bits = max(1, (rows - 1).bit_length())
    keys, slots, _ = steps.sort_by_bits(keys, 0, bits, slots)
    return steps.row_starts(keys, 0, bits, rows), slots


class BatchTraining(schedule.Epochs):
    """Epochs of a session in batches."""

    def __init__(self, session, task, batches):
        super().__init__(session, task.settings)
        self.batches, self.batch = batches, session.batch_of(task.data.side, task.data.query)

    def start(self, rates, turn):
        """Run `step`; on a GPU it is queued."""
        layout, parameters, (parts, *minor, seen, steps) = self.session.layout, self.session.parameters, self.batches
        for part in schedule.order_tables(parts, turn):
            steps.walk_major(layout, part.chunks, self.batch, parameters, rates, seen)
            steps.walk_minor(layout, part.starts, part.slots, *minor, seen, parameters.Q, rates)


def arrange(task):
    """Return (chunk tables, workers) of a solvers.Task.

    Batches if it is deterministic without strata; (Pace, levels, whether they are exact) if its ratings are streamed.
    """
    if task.deterministic and task.data.side.strata is None:
        return arrange_batches(task)
    settings, counts = task.settings, np.diff(task.data.side.indptr)
    pace = schedule.Pace(default_workers(task), row_rates(settings.rates, settings.learning_rate, counts))
    if task.streamed:
        return pace, len(task.orders.levels.values), task.orders.levels.exact
    return chunk_tables(task.data.side, pace, settings.seed, task.steps)


def default_workers(task):
    """Return the number of workers for the ratings of a solvers.Task."""
    return schedule.worker_count(len(task.orders), task.steps.most_workers(task.layout), task.layout.slots > 0)


def chunk_tables(side, pace, seed, steps):
    """Return (tables, workers) of an epoch: one table, or the strata of a conflict-free schedule."""
    if side.strata is not None:
        return side.strata, len(side.strata)
    table = chunk_table(side.indptr, side.starts, pace, seed, steps)
    return [table], pace.workers


def begin(session, task, arranged):
    """Return the Training of a session."""
    if isinstance(arranged, Batches):
        return BatchTraining(session, task, arranged)
    if task.streamed:
        from gpukit.factorization.solvers.sgd.stream_training import StreamTraining

        return StreamTraining(session, task, arranged)
    session.train_on(task.data.side, task.data.query, *arranged)
    return Training(session, task.settings)


class Training(schedule.Epochs):
    """Epochs of a session on the chunk tables that it holds."""

    def start(self, rates, turn):
        """Run `step`; on a GPU it is queued."""
        self.session.start_epoch(rates, turn)
