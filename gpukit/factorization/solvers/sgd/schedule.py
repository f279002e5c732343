"""Which worker walks which ratings, in which order: tables of chunks (major row, first rating, number of ratings).

A chunk starts from the major row as it stands and adds its change at the end, so chunks of one row that are walked at
the same time do not see each other: the row moves by the sum of steps that were each taken alone. `chunk_lengths`
keeps that sum small, and chunks/ spreads the chunks of a row over the epoch.
"""

import math
from typing import NamedTuple

import numpy as np

from gpukit.random import bits, key
from gpukit.streams import Keyed, Numpy

SHORTEST, LONGEST = 4, 256
WHOLE = 1024  # ratings of the longest chunk there is: of a row that is walked at one go
STALENESS = 1.6  # bound on the rate-weighted steps taken blindly, found by trial: from 3 on, skewed data diverges
QUAD = 4
RATINGS_A_WORKER = 1200  # fewer workers for fewer ratings, so that chunks stay long: whole columns in one go learn best
LEAST_CHUNKS = 4  # of a worker then
LEAST_STILL = 64  # ratings of a worker where most rows stand still
SHY = 2.0  # times as many up to a million ratings with neighbourhoods, which learn less from numbers a chunk old


def worker_count(n_ratings, most, near=False):
    """Workers for so many ratings: at most `most`, at least 1, a multiple of QUAD where there are several of them.

    near: whether with neighbourhoods. Twice as many workers on MovieLens 1M cost 0.0004 of RMSE (one H200, ten seeds).
    """
    tenfold = min(max(math.log10(max(n_ratings, 1)) - 6.0, 0.0), 1.0)
    each = RATINGS_A_WORKER * (SHY ** (1.0 - tenfold) if near else 1.0)
    workers = min(most, max(1, int(n_ratings / each)))
    return int(workers if workers <= QUAD else workers // QUAD * QUAD)


class Pace(NamedTuple):
    """How an epoch goes about its major rows: workers; rate (rows,), about that of each row's steps; shortest: chunks
    of a row are at least so long, if they can; longest: and at most; whole: rows of no more ratings are one chunk, at
    most WHOLE; of fewer where workers would not have as much to do."""

    workers: int
    rate: np.ndarray
    shortest: int = SHORTEST
    longest: int = LONGEST
    whole: int = 0


def still_workers(n_ratings, steps, bounds):
    """Workers where only some rows learn and all others stand still, a multiple of QUAD where there are several.

    steps: of the major rows that learn, ratings times their rate. A row that stands still sees no change late, so
    chunks need not be long: what bounds the workers is that single ratings of the row with the most steps keep within
    STALENESS, as chunk_lengths has it. bounds: the fewest and the most there may be.
    """
    steepest = max(float(np.max(steps, initial=0.0)), 1e-9)
    fewest, most = bounds
    workers = int(min(most, STALENESS * n_ratings / steepest, n_ratings / LEAST_STILL))
    return max(fewest, workers if workers <= QUAD else workers // QUAD * QUAD)


def longest_still(n_ratings, workers):
    """The longest chunk of rows that stand still, of which each worker has several: an epoch lasts at least as long as
    its longest chunk."""
    return int(np.clip(n_ratings // (LEAST_CHUNKS * workers), SHORTEST, LONGEST))


def chunk_lengths(counts, workers, rate, bounds=(SHORTEST, LONGEST)):
    """(rows,) longest chunk allowed for rows with so many ratings, whose steps have about this rate (a number or one a
    row); bounds: what none is below and above.

    A row with n of all ratings is walked by about workers n / total workers at a time, each adding T steps taken alone:
    workers (n / total) T rate stays below STALENESS.
    """
    shared = max(workers - 1, 1e-9) * np.maximum(counts, 1) / max(int(counts.sum()), 1) * np.maximum(rate, 1e-9)
    return np.clip(STALENESS / shared, *bounds).astype(np.int64)


def whole_rows(n_ratings, workers, parts):
    """The Pace.whole of an epoch in so many parts: what a worker has in a part."""
    return min(WHOLE, n_ratings // (workers * parts))


def block_count(n_ratings, rows, grain, most):
    """Blocks that the rows of either side are dealt into, for training that gives one result: at most `most`, of
    `grain` ratings or more where both sides' are crossed, and a rating or more of a major row in each. rows: how many
    there are of the major side and of the other."""
    return max(1, min(most, math.isqrt(n_ratings // grain), *rows, n_ratings // rows[0]))


def dealt(counts, n_blocks, seed):
    """(block, turn) int32 of each row: rows are dealt out by falling count, at random within a deal, so blocks are
    even; then the deals are shuffled, so rows of the same turn are about as long and turns are in a random order."""
    rng, deals = np.random.default_rng([seed, Numpy.ROW_BLOCKS[0]]), -(-len(counts) // n_blocks)
    noise, order = rng.random((deals, n_blocks)), np.argsort(-counts, kind="stable")
    block, turn = np.empty(len(counts), np.int32), np.empty(len(counts), np.int32)
    block[order] = np.argsort(noise, axis=1).reshape(-1)[: len(counts)]
    turn[order] = np.repeat(rng.permutation(deals), n_blocks)[: len(counts)]
    return block, turn


def in_turn(tables, turn):
    """The tables of an epoch in an order of its own, a function of its key `turn`."""
    return [tables[s] for s in sorted(range(len(tables)), key=lambda s: bits(~turn, s))]


def turn_key(seed, epoch):
    """The key of an epoch: where each chunk starts; of batch-Hogwild, the order of batches."""
    return np.uint32(key(seed, Keyed.EPOCHS[epoch % len(Keyed.EPOCHS)]))
