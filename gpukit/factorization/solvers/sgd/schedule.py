"""Which worker walks which ratings, in which order: tables of chunks (major row, first rating, number of ratings).

A chunk starts from the major row as it stands and adds its change at the end, so chunks of one row that are walked at
the same time do not see each other: the row moves by the sum of steps that were each taken alone. `chunk_lengths`
keeps that sum small, and chunks/ spreads the chunks of a row over the epoch.
"""

import numpy as np

from gpukit._jit import njit
from gpukit.random import key
from gpukit.streams import Keyed, Numpy

SHORTEST, LONGEST = 4, 256
STALENESS = 1.6  # bound on the rate-weighted steps taken blindly, found by trial: from 3 on, skewed data diverges
QUAD = 4
RATINGS_A_WORKER = 1200  # fewer workers for fewer ratings, so that chunks stay long: whole columns in one go learn best


def worker_count(n_ratings, most):
    """Workers for so many ratings: at most `most`, at least 1, a multiple of QUAD where there are several of them."""
    workers = min(most, max(1, n_ratings // RATINGS_A_WORKER))
    return int(workers if workers <= QUAD else workers // QUAD * QUAD)


def chunk_lengths(counts, workers, rate):
    """(rows,) longest chunk allowed for rows with so many ratings, whose steps have about this rate (a number or one a
    row).

    A row with n of all ratings is walked by about workers n / total workers at a time, each adding T steps taken alone:
    workers (n / total) T rate stays below STALENESS.
    """
    shared = max(workers - 1, 1e-9) * np.maximum(counts, 1) / max(int(counts.sum()), 1) * np.maximum(rate, 1e-9)
    return np.clip(STALENESS / shared, SHORTEST, LONGEST).astype(np.int64)


def blocks_of(counts, n_blocks, seed):
    """(rows,) int32 block of each row: rows are dealt out by falling count, at random within a deal, so blocks are
    even."""
    noise = np.random.default_rng([seed, Numpy.ROW_BLOCKS[0]]).random((len(counts) // n_blocks + 1, n_blocks))
    deals = np.argsort(noise, axis=1).reshape(-1)[: len(counts)]
    block = np.empty(len(counts), np.int32)
    block[np.argsort(-counts, kind="stable")] = deals
    return block


def conflict_free_tables(indptr, minor, major_block, minor_block, n_blocks):
    """Tables of an epoch without conflicts: in table s, worker b walks the ratings of block (b, (b + s) mod n_blocks).

    Each row's ratings must be sorted by minor_block[minor]. No two workers of a table share a major or a minor row, so
    the result does not depend on timing (Gemulla et al. 2011). Slot t of worker b is line t n_blocks + b; free slots
    have length 0.
    """
    runs = _runs(indptr, minor, minor_block)
    worker = major_block[runs[:, 0]]
    stratum = (runs[:, 3] - worker) % n_blocks
    order = np.lexsort((worker, stratum))
    tables = []
    for s in range(n_blocks):
        at = order[np.searchsorted(stratum[order], s) : np.searchsorted(stratum[order], s, "right")]
        sizes = np.bincount(worker[at], minlength=n_blocks)
        slot = np.arange(len(at)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        table = np.zeros((max(int(sizes.max()), 1) * n_blocks, 3), np.int64)
        table[slot * n_blocks + worker[at]] = runs[at, :3]
        tables.append(table)
    return tables


@njit
def _runs(indptr, minor, minor_block):
    """(n, 4) int64: row, first, number and minor block of every run of ratings of one row in one minor block."""
    count = 0
    for row in range(indptr.size - 1):
        for t in range(indptr[row], indptr[row + 1]):
            count += t == indptr[row] or minor_block[minor[t]] != minor_block[minor[t - 1]]
    runs = np.empty((count, 4), np.int64)
    count = -1
    for row in range(indptr.size - 1):
        for t in range(indptr[row], indptr[row + 1]):
            if t == indptr[row] or minor_block[minor[t]] != minor_block[minor[t - 1]]:
                count += 1
                runs[count, 0], runs[count, 1], runs[count, 2], runs[count, 3] = row, t, 0, minor_block[minor[t]]
            runs[count, 2] += 1
    return runs


def turn_key(seed, epoch):
    """The key of an epoch: where each chunk starts."""
    return np.uint32(key(seed, Keyed.EPOCHS[epoch % len(Keyed.EPOCHS)]))
