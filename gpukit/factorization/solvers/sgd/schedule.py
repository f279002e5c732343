"""Schedules of an epoch: tables of chunks (major row, first rating, number of ratings) for the workers.

A chunk starts from the current major row and adds its change at the end. Concurrent chunks of one row do not see each
other's changes: the row moves by the sum of steps that were each computed without the others. `chunk_lengths` bounds
that sum, and `chunk_table` spreads the chunks of a row over the epoch.

Chunk tables: chunks of an epoch and their order; `steps` is the module cpu.py or gpu.py.
"""

import math
from typing import NamedTuple

import numpy as np

from gpukit.factorization.constants import RULES
from gpukit.random import bits, key
from gpukit.streams import Keyed, Numpy

WHOLE = 1024  # ratings of the longest chunk, for a row in one chunk
STALENESS = 1.6  # bound on the rate-weighted stale steps, found by trial: from 3 on, skewed data diverges
QUAD = 4
BLOCK = 128  # threads of a block of an epoch on a GPU


def worker_count(n_ratings, most, near=False):
    """Return the number of workers for n_ratings ratings: at most `most`, at least 1, a multiple of QUAD above QUAD.

    near: with neighbourhoods. Twice as many workers on MovieLens 1M cost 0.0004 of RMSE (one H200, ten seeds).
    """
    shy = 2.0  # factor up to a million ratings with neighbourhoods, which suffer more from staleness
    tenfold = min(max(math.log10(max(n_ratings, 1)) - 6.0, 0.0), 1.0)
    per_worker = RULES.ratings_a_worker * (shy ** (1.0 - tenfold) if near else 1.0)
    workers = min(most, max(1, int(n_ratings / per_worker)))
    return int(workers if workers <= QUAD else workers // QUAD * QUAD)


class Pace(NamedTuple):
    """Workers and chunk lengths of an epoch.

    rate (rows,): approximate rate of each row's steps; shortest, longest: bounds of a chunk; whole: rows of up to so
    few ratings are one chunk, at most WHOLE, fewer if the workers' loads would differ.
    """

    workers: int
    rate: np.ndarray
    shortest: int = RULES.shortest_chunk
    longest: int = RULES.longest_chunk
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
    return int(np.clip(n_ratings // (least_chunks * workers), RULES.shortest_chunk, RULES.longest_chunk))


def chunk_lengths(counts, workers, rate, bounds=(RULES.shortest_chunk, RULES.longest_chunk)):
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
    places = np.arange(len(counts), dtype=np.uint64)  # numpy sorts whole keys several times as fast as places, stably
    keys = np.sort(((counts.max(initial=0) - counts).astype(np.uint64) << np.uint64(32)) | places)
    noise, order = rng.random((deals, n_blocks)), (keys & np.uint64(2**32 - 1)).astype(np.int64)
    block, turn = np.empty(len(counts), np.int32), np.empty(len(counts), np.int32)
    block[order] = np.argsort(noise, axis=1).reshape(-1)[: len(counts)]
    turn[order] = np.repeat(rng.permutation(deals), n_blocks)[: len(counts)]
    return block, turn


def order_tables(tables, turn):
    """Return the tables in the random order of an epoch with key `turn`."""
    if len(tables) == 1:
        return tables  # without compiling `bits`
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


LENGTH_BITS = 7  # of the sort keys of chunks


class RowChunks(NamedTuple):
    """Rows and their chunks.

    starts (rows + 1 or more,) int64: first rating of each row; before (rows + 1,) int64: number of chunks of the rows
    before each, both on the device; chunks: number of all chunks.
    """

    starts: object
    before: object
    chunks: int


def chunk_table(indptr, starts, pace, seed, steps):
    """Return the chunks (n, 3) int64 (row, first rating, ratings) of all rows of indptr (rows + 1,), on the device.

    Some chunks have no ratings. Chunks form quads of about equal length (within an eighth of an octave), because four
    groups of lanes make up a warp, whose longest chunk sets its time. Every four workers have equal work, because the
    slowest warp sets the time of an epoch. The order of the quads of every four workers is random, so that chunks of a
    row are seldom concurrent. starts: indptr on the device, or longer; pace: schedule.Pace.
    """
    return cut_table(np.diff(indptr), starts, pace, seed, steps)


def cut_table(counts, starts, pace, seed, steps, parts=1):
    """Return `chunk_table` of rows with counts (rows,) ratings, in consecutive parts.

    Each part has equal work for every four workers. A count is all ratings of the row, or 0 to exclude it.
    """
    pieces = pieces_of(counts, pace, parts)
    before = np.concatenate(([0], np.cumsum(pieces)))
    row_chunks = RowChunks(starts, steps.resident(before, np.int64), int(before[-1]))
    return table_of(row_chunks, pace.workers, seed, steps, parts)


def pieces_of(counts, pace, parts):
    """Return the number of chunks of each row, (rows,).

    Rows of up to pace.whole ratings are one chunk. The limit is halved until every four workers of a part have about
    equal work.
    """
    uneven = 1.1  # largest work of four workers in a part over the mean; beyond it rows are cut, if that helps
    longest = chunk_lengths(counts, pace.workers, pace.rate, (pace.shortest, pace.longest))
    n_pieces, whole = -(-counts // longest), min(pace.whole, WHOLE)
    pieces = np.where(counts <= whole, np.minimum(counts, 1), n_pieces)
    if not whole or (busy := max_load(counts, pieces, pace.workers, parts)) <= uneven:
        return pieces
    bound = max(uneven, max_load(counts, n_pieces, pace.workers, parts))
    while whole and busy > bound:
        whole //= 2
        pieces = np.where(counts <= whole, np.minimum(counts, 1), n_pieces)
        busy = max_load(counts, pieces, pace.workers, parts)
    return pieces


def max_load(counts, pieces, workers, parts):
    """Return the largest work of four workers in a part, as a multiple of the mean.

    It is estimated from the first part, whose quads are taken to be as long as the first of each `QUAD parts` chunks by
    falling length.
    """
    fours, lengths = max(1, workers // QUAD), -(-counts // np.maximum(pieces, 1))
    up_to = np.cumsum(np.bincount(lengths, pieces, 1)[::-1])  # number of chunks of at least each length, descending
    first = np.arange(0, int(up_to[-1]), QUAD * parts)
    rounds = max(1, -(-len(first) // fours))
    quads = np.zeros(rounds * fours, np.int64)
    quads[: len(first)] = len(up_to) - 1 - np.searchsorted(up_to, first, side="right")
    work = quads[balance_quads(quads, rounds, fours)].sum(0)
    return work.max() / max(work.mean(), 1.0)


def table_of(row_chunks, workers, seed, steps, parts=1):
    """Return `cut_table` of RowChunks."""
    fours = max(1, workers // QUAD)
    rounds = parts * max(1, -(-row_chunks.chunks // (QUAD * fours * parts)))
    return deal_quads(order_chunks(row_chunks, seed, steps), (rounds // parts, fours), seed, steps, parts)


def order_chunks(row_chunks, seed, steps):
    """Return (chunks (n, 3), order (n,), n) of RowChunks; order: by falling class of length, then random."""
    starts, before, n = row_chunks
    chunks, keys, places = steps.empty((n, 3), np.int64), steps.empty(n, np.uint64), steps.empty(n, np.uint32)
    random_key = np.uint32(key(seed, Keyed.CHUNK_ORDER[0]))
    classes = steps.resident(classes_of_length(), np.uint64)
    random_bits = 16
    steps.run("cut_rows", starts, before, classes, random_bits, random_key, chunks, keys, places)
    _, order, _ = steps.sort_by_bits(keys, 0, LENGTH_BITS + random_bits, places)
    return chunks, order, n


def classes_of_length():
    """Return the class of each length, (WHOLE + 1,) uint64, 0 for the longest."""
    octaves = np.log2(np.maximum(np.arange(WHOLE + 1), 1))
    return (np.ceil(RULES.length_classes * np.log2(WHOLE)) - np.ceil(RULES.length_classes * octaves)).astype(np.uint64)


def deal_quads(ordered, shape, seed, steps, parts):
    """Distribute the quads of ordered chunks over every four workers by falling length, then shuffle those of each.

    ordered: of order_chunks; shape: (rounds, fours) of each part; the parts are consecutive. Quads are dealt in
    alternating direction, so that loads are equal; in several parts, where four workers have few quads of each, by
    `balance_quads`.
    """
    rounds, fours = shape
    quads = parts * rounds * fours
    keys, places = steps.empty(quads, np.uint64), steps.empty(quads, np.uint32)
    steps.run("fallen_lengths", *ordered, WHOLE, keys, places)
    keys, order, _ = steps.sort_by_bits(keys, 0, WHOLE.bit_length(), places)
    if parts > 1:
        order = steps.resident(order_of_parts(WHOLE - steps.fetch(keys), steps.fetch(order), shape, parts), np.uint32)
    hands, out = steps.empty((rounds, parts * fours), np.uint32), steps.empty((QUAD * quads, 3), np.int64)
    steps.run("deal_hands", order, np.uint32(key(seed, Keyed.CHUNK_ORDER[1])), hands)
    if parts > 1:
        hands_by_part = steps.fetch(hands).reshape(rounds, parts, fours).transpose(1, 0, 2)
        hands = steps.resident(hands_by_part.reshape(-1, fours), np.uint32)
    steps.run("take_quads", *ordered, hands, out)
    return out


def order_of_parts(lengths, order, shape, parts):
    """Return the order of quads in which alternating dealing gives every part the result of `balance_quads`.

    lengths, order: of all quads, by falling length. Every `parts`-th quad belongs to a part, so that the chunks of a
    row, which have about equal length, are in all parts.
    """
    rounds = np.hstack([order[part::parts][balance_quads(lengths[part::parts], *shape)] for part in range(parts)])
    rounds[1::2] = rounds[1::2, ::-1]
    return rounds.ravel()


def balance_quads(lengths, rounds, fours):
    """Return the quads of every four workers, (rounds, fours), from rounds * fours quads by falling length.

    Half a round of quads at a time goes to the workers with the least work. All but the last 24 rounds are dealt
    in alternating direction, which is as even. Source: Graham, Bounds on multiprocessing timing anomalies (1969),
    longest first; here with an equal number of quads.
    """
    balanced = 24
    before = rounds if fours == 1 else max(0, rounds - balanced)
    n_dealt, hands = before * fours, np.empty((rounds, fours), np.int64)
    hands[:before] = np.arange(n_dealt).reshape(before, fours)
    hands[1:before:2] = hands[1:before:2, ::-1]
    work, had = lengths[hands[:before]].sum(0), np.full(fours, before)
    while n_dealt < len(lengths):
        free = np.flatnonzero(had < rounds)
        least = free[np.argsort(work[free], kind="stable")[: max(1, fours // 2)]]
        quads = np.arange(n_dealt, n_dealt + len(least))
        hands[had[least], least] = quads
        work[least] += lengths[quads]
        had[least] += 1
        n_dealt += len(least)
    return hands
