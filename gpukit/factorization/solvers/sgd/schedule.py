"""Which worker walks which ratings, in which order: tables of chunks (major row, first rating, number of ratings).

A chunk starts from the major row as it stands and adds its change at the end, so chunks of one row that are walked at
the same time do not see each other: the row moves by the sum of steps that were each taken alone. `chunk_lengths`
keeps that sum small, and `chunk_table` spreads the chunks of a row over the epoch.
"""

import numpy as np

from gpukit._jit import njit, prange
from gpukit.random import below, key
from gpukit.streams import Keyed, Numpy

SHORTEST, LONGEST = 4, 256
STALENESS = 1.6  # bound on the rate-weighted steps taken blindly, found by trial: from 3 on, skewed data diverges
QUAD = 4
CLASSES = 8  # of length, an octave: the more, the more even a quad, but the more often chunks of one row meet
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


def chunk_table(indptr, workers, rate, seed):
    """(n, 3) int64 chunks of all rows of indptr (rows + 1,), and some without ratings: quads of about equal length
    (within an eighth of an octave), as much work for every four workers, each four's in an order of its own.

    Quads, because four groups of lanes make up a warp, which is as slow as its longest chunk; as much work, because an
    epoch is as slow as its slowest warp; about equal and at random, because a row's chunks must not meet more often
    than they have to.
    """
    counts = np.diff(indptr)
    pieces = -(-counts // chunk_lengths(counts, workers, rate))
    row = np.repeat(np.arange(len(counts)), pieces)
    part = np.arange(len(row)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    first = indptr[row] + part * counts[row] // pieces[row]
    last = indptr[row] + (part + 1) * counts[row] // pieces[row]
    chunks = np.stack([row, first, last - first], axis=1).astype(np.int64)
    random = np.random.default_rng([seed, Numpy.CHUNK_ORDER[0]])
    classes = np.ceil(CLASSES * np.log2(np.maximum(chunks[:, 2], 1)))
    order = np.argsort(random.random(len(chunks)) - classes)
    fours = max(1, workers // QUAD)
    rounds = max(1, -(-len(chunks) // (QUAD * fours)))
    table = np.zeros((rounds * fours, QUAD, 3), np.int64)
    table.reshape(-1, 3)[: len(chunks)] = chunks[order]
    return _dealt(table, rounds, random).reshape(-1, 3)


def _dealt(quads, rounds, random):
    """quads (n, 4, 3) dealt out in rounds by falling length, to and fro, so that all get as much; then each one's
    shuffled."""
    longest = quads[:, :, 2].max(axis=1)
    hands = quads[np.argsort(-longest, kind="stable")].reshape(rounds, -1, *quads.shape[1:])
    hands[1::2] = hands[1::2, ::-1]
    order = np.argsort(random.random(hands.shape[:2]), axis=0)
    return np.ascontiguousarray(np.take_along_axis(hands, order[:, :, None, None], axis=0))


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


@njit(parallel=True)
def shuffle_rows(indptr, places, seed_key):
    """Fisher-Yates within every row of places (n,), in place, a function of seed_key alone."""
    for row in prange(indptr.size - 1):
        first = indptr[row]
        for last in range(indptr[row + 1] - first - 1, 0, -1):
            other = below(seed_key, first + last, last + 1)
            places[first + last], places[first + other] = places[first + other], places[first + last]
