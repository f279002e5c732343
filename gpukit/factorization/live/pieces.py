"""Rows cut into chunks where they lie, most of which stand still: chunks/table.py for half a million rows of which few
have ratings, so that the host looks at none of them."""

import numpy as np

from gpukit.factorization.model.layout import major_first
from gpukit.factorization.solvers.sgd import rates, schedule
from gpukit.factorization.solvers.sgd import training as descent
from gpukit.factorization.solvers.sgd.chunks.table import RowChunks, table_of

PARTS = 1024  # in which pieces are counted at once


def still_tables(task, flags, work):
    """What descent.chunk_tables gives of a solvers.Task, where rows that are flagged learn beside others that stand
    still; flags ((M,), (N,)) uint8 on the device, work: upload.Work."""
    own, starts, settings = work.own, task.data.side.starts, task.settings
    flags, n = major_first(work.walk, *flags)[0], len(task.orders)
    most = own.zeros(1, np.int64)
    own.run("most_rated", starts, flags, most)
    counts = own.fetch(most)
    steps = counts * rates.row_rates(settings.rates, settings.learning_rate, counts)  # which rise with counts
    workers = schedule.still_workers(n, steps, (descent.usual_workers(task), work.steps.most_workers(work.layout)))
    blind = max(workers - 1, 1e-9) / max(n, 1)
    gain = rates.FACTOR_GAIN if settings.rates == "adaptive" else 0.0
    pace = float(settings.learning_rate), gain, blind, schedule.longest_still(n, workers)
    before = pieces_before(starts, flags, pace, own)
    cut = RowChunks(starts, before, int(own.fetch(before[flags.size :])[0]))
    return [table_of(cut, workers, settings.seed, work.steps.chunking)], workers


def pieces_before(starts, flags, pace, own):
    """(rows + 1,) int64 on the device: how many pieces the rows before each have; pace: rate, gain, blind and longest
    of formulas.piece_count."""
    rows = flags.size
    counts = own.empty((min(PARTS, rows + 1), -(-(rows + 1) // min(PARTS, rows + 1))), np.int64)
    own.run("count_pieces", starts, flags, *pace, counts.reshape(counts.size))
    parts, before = own.scan_parts(counts), own.empty(rows + 1, np.int64)
    own.run("add_parts", counts.reshape(counts.size), parts, before)
    return before
