"""Chunks of rows, cut on the device: chunk_table.py for many rows, most of them without ratings.

The host processes none of the rows.
"""

import numpy as np

from gpukit.factorization.model.layout import major_first
from gpukit.factorization.solvers import rates
from gpukit.factorization.solvers.sgd import schedule
from gpukit.factorization.solvers.sgd import training as descent
from gpukit.factorization.solvers.sgd.chunk_table import RowChunks, table_of

PARTS = 1024  # of the rows whose pieces are counted concurrently


def tables_with_fixed_rows(task, flags, context):
    """Return descent.chunk_tables of a solvers.Task whose flagged rows learn while the others are fixed.

    flags ((M,), (N,)) uint8 on the device; context: upload.Context.
    """
    steps, starts, settings = context.live_steps, task.data.side.starts, task.settings
    flags, n = major_first(context.walk, *flags)[0], len(task.orders)
    most = steps.zeros(1, np.int64)
    steps.run("most_rated", starts, flags, most)
    counts = steps.fetch(most)
    row_steps = counts * rates.row_rates(settings.rates, settings.learning_rate, counts)  # increase with counts
    bounds = descent.usual_workers(task), context.steps.most_workers(context.layout)
    workers = schedule.still_workers(n, row_steps, bounds)
    blind = max(workers - 1, 1e-9) / max(n, 1)
    gain = rates.FACTOR_GAIN if settings.rates == "adaptive" else 0.0
    pace = float(settings.learning_rate), gain, blind, schedule.longest_still(n, workers)
    before = count_pieces_before(starts, flags, pace, steps)
    cut = RowChunks(starts, before, int(steps.fetch(before[flags.size :])[0]))
    return [table_of(cut, workers, settings.seed, context.steps.chunking)], workers


def count_pieces_before(starts, flags, pace, steps):
    """Return the number of pieces of the rows before each, (rows + 1,) int64 on the device.

    pace: rate, gain, blind and longest of formulas.piece_count.
    """
    rows = flags.size
    counts = steps.empty((min(PARTS, rows + 1), -(-(rows + 1) // min(PARTS, rows + 1))), np.int64)
    steps.run("count_pieces", starts, flags, *pace, counts.reshape(counts.size))
    parts, before = steps.scan_parts(counts), steps.empty(rows + 1, np.int64)
    steps.run("add_parts", counts.reshape(counts.size), parts, before)
    return before
