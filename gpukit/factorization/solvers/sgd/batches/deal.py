"""Which ratings make a batch, and how many of them a row learns from at once; on the host."""

import numpy as np

from gpukit.factorization.model.layout import EXTRA
from gpukit.factorization.solvers.sgd import schedule

BATCHES = 32  # at least; 16 to 256 do as well on MovieLens 1M, whose epochs see the other side that often
PIECE = 512  # ratings of a major row in one batch; a longer one goes on in the next batch
SEEN_BYTES = 512 << 20  # of the rows that the ratings of a batch found
AT_ONCE = 32  # ratings that a row learns from at once, at most
LONG = 64  # ratings of a row in a batch for which a whole block works


def batch_count(n_ratings, row_bytes):
    """Batches of so many ratings, each of which notes a row of so many bytes."""
    return max(BATCHES, -(-n_ratings * row_bytes // SEEN_BYTES))


def memory(n_ratings, layout):
    """Bytes that the batches of so many ratings take on a device, for a layout.Layout."""
    row_bytes = 4 * (layout.lanes * layout.factors + EXTRA)
    return 4 * n_ratings + min(SEEN_BYTES, -(-n_ratings // BATCHES) * row_bytes)


def at_once(rates):
    """(rows,) int64 powers of two up to AT_ONCE: ratings that rows with these learning rates may take without seeing
    what the others among them change, as schedule.STALENESS has it."""
    most = np.clip(schedule.STALENESS / np.maximum(rates, 1e-9), 1, AT_ONCE)
    return (2 ** np.floor(np.log2(most))).astype(np.int64)


def minor_rows(counts, rates, batches):
    """(order (rows,), at_once (rows,), long) of minor rows with so many ratings and about these learning rates: by
    falling count; ratings that each of these learns from at once; for how many of them, the first, a block works."""
    order = np.argsort(-counts, kind="stable")
    return order, at_once(rates)[order], int(np.count_nonzero(counts > LONG * batches))


def chunks_of(counts, rates, batches, seed):
    """(chunks (n, 5) int64, firsts (batches + 1,), longs (batches,)): the ratings of major rows with so many, cut into
    pieces and dealt out: row, first rating, ratings, its first slot in its batch, ratings at once.

    Batch b has the chunks firsts[b]:firsts[b + 1], by falling length; for the first longs[b] of them a block works.
    """
    first_batch, _ = schedule.dealt(counts, batches, seed)
    pieces = np.clip(-(-counts // PIECE), 0, batches)
    row = np.repeat(np.arange(len(counts)), pieces)
    piece = np.arange(len(row)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    low, high = (part * counts[row] // pieces[row] for part in (piece, piece + 1))
    batch, length = (first_batch[row] + piece) % batches, high - low
    order = np.lexsort((-length, batch))
    row, low, length, batch = (each[order] for each in (row, low, length, batch))
    firsts = np.searchsorted(batch, np.arange(batches + 1))
    before = np.append(0, np.cumsum(length))
    slot = before[:-1] - before[firsts[batch]]
    starts = (np.cumsum(counts) - counts)[row]
    chunks = np.stack([row, starts + low, length, slot, at_once(rates)[row]], axis=1)
    longs = np.bincount(batch[length > LONG], minlength=batches)
    return np.ascontiguousarray(chunks, np.int64), firsts, longs
