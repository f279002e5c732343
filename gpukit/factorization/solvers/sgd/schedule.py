"""Which worker walks which ratings, in which order: tables of chunks (major row, first rating, number of ratings).

A chunk starts from the major row as it stands and adds its change at the end, so chunks of one row that are walked at
the same time do not see each other: the row moves by the sum of steps that were each taken alone. `chunk_lengths`
keeps that sum small, and `chunk_table` spreads the chunks of a row over the epoch.
"""

import numpy as np

from gpukit._jit import njit, prange
from gpukit.primitives.group.cpu import sort_by_bits
from gpukit.random import below, bits, key
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
    chunks, keys = _cut(indptr, pieces, np.cumsum(pieces) - pieces, int(pieces.sum()), stream_key(seed, 0))
    order = _ordered(keys, LENGTH_BITS + RANDOM_BITS)
    fours = max(1, workers // QUAD)
    rounds = max(1, -(-len(chunks) // (QUAD * fours)))
    table = np.zeros((rounds * fours, QUAD, 3), np.int64)
    _take(chunks, order, table.reshape(-1, 3))
    return _dealt(table, rounds, stream_key(seed, 1)).reshape(-1, 3)


RANDOM_BITS, LENGTH_BITS = 16, 7  # of the keys that chunks are ordered by


def stream_key(seed, number):
    """The key of what the order of chunks is drawn from."""
    return np.uint32(key(seed, Keyed.CHUNK_ORDER[number]))


@njit(parallel=True)
def _cut(indptr, pieces, first_chunk, n_chunks, random_key):
    """(chunks (n, 3) int64, keys (n,) uint64: falling classes of length, then random bits) of rows cut into pieces."""
    chunks, keys = np.empty((n_chunks, 3), np.int64), np.empty(n_chunks, np.uint64)
    longest = np.ceil(CLASSES * np.log2(np.float64(LONGEST)))
    for row in prange(pieces.size):
        size = indptr[row + 1] - indptr[row]
        for part in range(pieces[row]):
            c = first_chunk[row] + part
            first = indptr[row] + part * size // pieces[row]
            length = indptr[row] + (part + 1) * size // pieces[row] - first
            chunks[c, 0], chunks[c, 1], chunks[c, 2] = row, first, length
            fallen = np.uint64(longest - np.ceil(CLASSES * np.log2(np.float64(max(length, 1)))))
            random = np.uint64(bits(random_key, c)) >> np.uint64(32 - RANDOM_BITS)
            keys[c] = (fallen << np.uint64(RANDOM_BITS)) | random
    return chunks, keys


def _ordered(keys, width):
    """(n,) uint32: the order of keys (n,) uint64 below 2**width, equal ones as they stand."""
    return sort_by_bits(keys, 0, width, np.arange(len(keys), dtype=np.uint32))[1]


@njit(parallel=True)
def _take(source, order, out):
    """out[:n] = source[order]."""
    for t in prange(order.size):
        out[t] = source[order[t]]


def _dealt(quads, rounds, random_key):
    """quads (n, 4, 3) dealt out in rounds by falling length, to and fro, so that all get as much; then each one's
    shuffled."""
    order = _ordered(_fallen(quads), LONGEST.bit_length()).reshape(rounds, -1)
    order[1::2] = order[1::2, ::-1].copy()
    hands = np.ascontiguousarray(order.T)
    _shuffle_lines(hands, random_key)
    out = np.empty_like(quads)
    _take(quads, np.ascontiguousarray(hands.T).reshape(-1), out)
    return out


@njit(parallel=True)
def _fallen(quads):
    """(n,) uint64: how much shorter than LONGEST the longest chunk of each quad (n, 4, 3) is."""
    out = np.empty(len(quads), np.uint64)
    for t in prange(len(quads)):
        out[t] = LONGEST - max(quads[t, 0, 2], quads[t, 1, 2], quads[t, 2, 2], quads[t, 3, 2])
    return out


@njit(parallel=True)
def _shuffle_lines(lines, random_key):
    """Fisher-Yates in every line of lines (m, n), in place, a function of random_key alone."""
    n = lines.shape[1]
    for m in prange(lines.shape[0]):
        for last in range(n - 1, 0, -1):
            other = below(random_key, m * n + last, last + 1)
            lines[m, last], lines[m, other] = lines[m, other], lines[m, last]


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
