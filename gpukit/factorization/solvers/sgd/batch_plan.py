"""Partition of ratings into batches, and of a row's ratings into concurrent steps; on the host."""

import numpy as np

from gpukit.factorization.model.layout import EXTRA
from gpukit.factorization.solvers.sgd import schedule

BATCHES = 32  # at least; 16 to 256 are as accurate on MovieLens 1M
PIECE = 512  # ratings of a major row in one batch; longer rows continue in the next batch
SEEN_BYTES = 512 << 20  # of the rows stored for the ratings of a batch
SORTED = 32  # bytes of a rating of a batch while its slots are sorted: keys, slots and their copies
AT_ONCE = 32  # concurrent steps of a row, at most
LONG = 64  # ratings of a row in a batch, at least, for processing by a whole block


def batch_count(n_ratings, row_bytes):
    """Return the number of batches of n_ratings ratings, with row_bytes bytes for each rating."""
    return max(BATCHES, -(-n_ratings * row_bytes // SEEN_BYTES))


def memory(n_ratings, layout):
    """Return the bytes that the batches of n_ratings ratings take on a device, for a layout.Layout."""
    row_bytes = 4 * (layout.lanes * layout.factors + EXTRA)
    return 4 * n_ratings + min(SEEN_BYTES, -(-n_ratings // BATCHES) * row_bytes)


def streamed_memory(n_ratings, layout):
    """Return the bytes of a batch on a device, besides its ratings, if these are streamed."""
    return memory(n_ratings, layout) - 4 * n_ratings + SORTED * -(-n_ratings // BATCHES)


def at_once(rates):
    """Return the number of concurrent steps of rows with these learning rates, (rows,) int64.

    It is a power of two up to AT_ONCE, within the bound schedule.STALENESS.
    """
    most = np.clip(schedule.STALENESS / np.maximum(rates, 1e-9), 1, AT_ONCE)
    return (2 ** np.floor(np.log2(most))).astype(np.int64)


def minor_rows(counts, rates, batches):
    """Return (order (rows,), at_once (rows,), long) of minor rows with counts ratings and about these learning rates.

    order: by falling count; at_once: concurrent steps of these rows; long: number of rows that a block processes.
    """
    order = np.argsort(-counts, kind="stable")
    return order, at_once(rates)[order], int(np.count_nonzero(counts > LONG * batches))


def chunks_of(counts, rates, batches, seed):
    """Return (chunks (n, 5) int64, firsts (batches + 1,), longs (batches,)) of major rows with counts ratings.

    A chunk is (row, first rating, ratings, first slot in its batch, concurrent steps). Batch b has the chunks
    firsts[b]:firsts[b + 1], by falling length; a block processes each of the first longs[b].
    """
    first_batch, _ = schedule.deal_rows(counts, batches, seed)
    pieces = np.clip(-(-counts // PIECE), 0, batches)
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
    chunks = np.stack([row, starts + low, length, slot, at_once(rates)[row]], axis=1)
    longs = np.bincount(batch[length > LONG], minlength=batches)
    return np.ascontiguousarray(chunks, np.int64), firsts, longs
