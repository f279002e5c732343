"""Training in batches, written once for either device."""

from typing import NamedTuple

import numpy as np

from gpukit.device.engine import engine
from gpukit.factorization.solvers.sgd import schedule
from gpukit.factorization.solvers.sgd.batches import deal
from gpukit.factorization.solvers.sgd.rates import row_rates


class Batch(NamedTuple):
    """One batch, on the device: its chunks, the first `long` of which a team works for; starts and slots of the minor
    rows' ratings, as walk_minor takes them."""

    chunks: np.ndarray
    long: int
    starts: np.ndarray
    slots: np.ndarray


class Batches(NamedTuple):
    """A list of Batch; of the minor rows, by falling count: rows, at_once (rows,) int32 on the device, and how many of
    them a team works for; seen, room for what the ratings of a batch note; the device's steps."""

    parts: list
    rows: np.ndarray
    at_once: np.ndarray
    long: int
    seen: np.ndarray
    steps: object


def arrange(task):
    """The Batches of a solvers.Task."""
    steps, settings, side = engine(task.device, __package__), task.settings, task.made.side
    counts = np.diff(side.indptr), np.diff(task.steps.preparing.fetch(side.minor_starts))
    rates = [row_rates(settings.rates, settings.learning_rate, each) for each in counts]
    n, width = int(counts[0].sum()), steps.seen_width(task.layout)
    batches = deal.batch_count(n, 4 * width)
    chunks, firsts, longs = deal.chunks_of(counts[0], rates[0], batches, settings.seed)
    order, at_once, long = deal.minor_rows(counts[1], rates[1], batches)
    sizes = np.add.reduceat(np.append(chunks[:, 2], 0), firsts[:-1]) * (np.diff(firsts) > 0)
    chunks, ranks = steps.resident(chunks, np.int64), steps.resident(np.argsort(order), np.int32)
    parts = [
        Batch(own, int(of_long), *minor_segments(own, int(size), side.minor, ranks, steps))
        for own, of_long, size in zip(map(chunks.__getitem__, map(slice, firsts, firsts[1:])), longs, sizes)
        if size
    ]
    seen = steps.empty((int(sizes.max()), width), np.float32)
    return Batches(parts, steps.resident(order, np.int32), steps.resident(at_once, np.int32), long, seen, steps)


def minor_segments(chunks, size, minor, ranks, steps):
    """(starts, slots) of the minor rows, by rank, for the `size` ratings of a batch with these chunks."""
    keys, slots = steps.empty(size, np.uint64), steps.empty(size, np.uint32)
    steps.run("key_batch", chunks, minor, ranks, keys, slots)
    rows = ranks.shape[0]
    bits = max(1, (rows - 1).bit_length())
    keys, slots, _ = steps.sort_by_bits(keys, 0, bits, slots)
    return steps.row_starts(keys, 0, bits, rows), slots


class Training:
    """Epochs of a session in batches, at the rates of settings.Settings."""

    def __init__(self, session, task, batches):
        self.session, self.settings, self.batches = session, task.settings, batches
        self.batch = session.batch_of(task.made.side, task.made.query)

    def epoch(self, number):
        """One pass over all ratings; returns when it is done."""
        self.step(self.settings.epoch_rates(number), schedule.turn_key(self.settings.seed, number))

    def step(self, rates, turn):
        """`epoch` at given Rates; turn: key of the order of the batches."""
        layout, parameters, (parts, rows, at_once, long, seen, steps) = (
            self.session.layout,
            self.session.parameters,
            self.batches,
        )
        for part in schedule.in_turn(parts, turn):
            steps.walk_major(layout, part.long, part.chunks, self.batch, parameters, rates, seen)
            steps.walk_minor(layout, long, part.starts, part.slots, rows, at_once, seen, parameters.Q, rates)
        self.session.finish()
