"""Schedules of an epoch: tables of chunks (major row, first rating, number of ratings) for the workers.

A chunk starts from the current major row and adds its change at the end. Concurrent chunks of one row do not see each
other's changes: the row moves by the sum of steps that were each computed without the others. `chunk_lengths` bounds
that sum, and chunk_table.py spreads the chunks of a row over the epoch.
"""

import math
from typing import NamedTuple

import numpy as np

from gpukit.random import bits, key
from gpukit.streams import Keyed, Numpy

SHORTEST, LONGEST = 4, 256
WHOLE = 1024  # ratings of the longest chunk, for a row in one chunk
STALENESS = 1.6  # bound on the rate-weighted stale steps, found by trial: from 3 on, skewed data diverges
QUAD = 4
RATINGS_A_WORKER = 1200  # fewer workers for fewer ratings, since long chunks learn best


def worker_count(n_ratings, most, near=False):
    """Return the number of workers for n_ratings ratings: at most `most`, at least 1, a multiple of QUAD above QUAD.

    near: with neighbourhoods. Twice as many workers on MovieLens 1M cost 0.0004 of RMSE (one H200, ten seeds).
    """
    shy = 2.0  # factor up to a million ratings with neighbourhoods, which suffer more from staleness
    tenfold = min(max(math.log10(max(n_ratings, 1)) - 6.0, 0.0), 1.0)
    per_worker = RATINGS_A_WORKER * (shy ** (1.0 - tenfold) if near else 1.0)
    workers = min(most, max(1, int(n_ratings / per_worker)))
    return int(workers if workers <= QUAD else workers // QUAD * QUAD)


class Pace(NamedTuple):
    """Workers and chunk lengths of an epoch.

    rate (rows,): approximate rate of each row's steps; shortest, longest: bounds of a chunk; whole: rows of up to so
    few ratings are one chunk, at most WHOLE, fewer if the workers' loads would differ.
    """

    workers: int
    rate: np.ndarray
    shortest: int = SHORTEST
    longest: int = LONGEST
    whole: int = 0


def still_workers(n_ratings, steps, bounds):
    """Return the number of workers if only some rows learn, a multiple of QUAD above QUAD.

    steps: ratings times rate of the major rows that learn. Fixed rows have no stale changes, so chunks may be short.
    The bound is STALENESS for single ratings of the row with the most steps (see chunk_lengths). bounds: (fewest,
    most).
    """
    least_ratings = 64  # of a worker
    steepest = max(float(np.max(steps, initial=0.0)), 1e-9)
    fewest, most = bounds
    workers = int(min(most, STALENESS * n_ratings / steepest, n_ratings / least_ratings))
    return max(fewest, workers if workers <= QUAD else workers // QUAD * QUAD)


def longest_still(n_ratings, workers):
    """Return the longest chunk of fixed rows, such that each worker has several: the longest chunk bounds an epoch's
    time."""
    least_chunks = 4  # of a worker
    return int(np.clip(n_ratings // (least_chunks * workers), SHORTEST, LONGEST))


def chunk_lengths(counts, workers, rate, bounds=(SHORTEST, LONGEST)):
    """Return the longest chunk allowed for rows with counts ratings, (rows,).

    rate: of the rows' steps, a number or (rows,); bounds: of the result. A row with n of all ratings is processed by
    about workers n / total workers at a time, each adding T steps computed alone: workers (n / total) T rate is below
    STALENESS.
    """
    shared = max(workers - 1, 1e-9) * np.maximum(counts, 1) / max(int(counts.sum()), 1) * np.maximum(rate, 1e-9)
    return np.clip(STALENESS / shared, *bounds).astype(np.int64)


def whole_rows(n_ratings, workers, parts):
    """Return the Pace.whole of an epoch in `parts` parts: the ratings of a worker in a part."""
    return min(WHOLE, n_ratings // (workers * parts))


def block_count(n_ratings, rows, grain, most):
    """Return the number of blocks of either side for deterministic training, at most `most`.

    Each pair of blocks has at least `grain` ratings, and each major row at least a rating per block on average. rows:
    of the major and of the other side.
    """
    return max(1, min(most, math.isqrt(n_ratings // grain), *rows, n_ratings // rows[0]))


def deal_rows(counts, n_blocks, seed):
    """Return (block, turn) int32 of each row.

    Rows are dealt by falling count, in random order within a deal, so blocks are even. The deals are shuffled, so rows
    of the same turn have similar counts and turns are in random order.
    """
    rng, deals = np.random.default_rng([seed, Numpy.ROW_BLOCKS[0]]), -(-len(counts) // n_blocks)
    noise, order = rng.random((deals, n_blocks)), np.argsort(-counts, kind="stable")
    block, turn = np.empty(len(counts), np.int32), np.empty(len(counts), np.int32)
    block[order] = np.argsort(noise, axis=1).reshape(-1)[: len(counts)]
    turn[order] = np.repeat(rng.permutation(deals), n_blocks)[: len(counts)]
    return block, turn


def order_tables(tables, turn):
    """Return the tables in the random order of an epoch with key `turn`."""
    return [tables[s] for s in sorted(range(len(tables)), key=lambda s: bits(~turn, s))]


def turn_key(seed, epoch):
    """Return the key of an epoch: offsets of its chunks; for batch-Hogwild, the order of batches."""
    return np.uint32(key(seed, Keyed.EPOCHS[epoch % len(Keyed.EPOCHS)]))


class Epochs:
    """Epochs of a session at the rates of settings.Settings; subclasses define start(rates, turn), which queues one."""

    def __init__(self, session, settings):
        self.session, self.settings = session, settings

    def epoch(self, number):
        """Make one pass over all ratings; return when complete."""
        self.step(self.settings.epoch_rates(number), turn_key(self.settings.seed, number))

    def step(self, rates, turn):
        """Run `epoch` at given formulas.Rates; turn: key of its order."""
        self.start(rates, turn)
        self.finish()

    def finish(self):
        """Wait for the queued epochs."""
        self.session.finish()
