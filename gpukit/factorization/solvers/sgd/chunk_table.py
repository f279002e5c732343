"""Chunk tables: chunks of an epoch and their order; `steps` is the module cpu.py or gpu.py."""

from typing import NamedTuple

import numpy as np

from gpukit.factorization.solvers.sgd.schedule import QUAD, WHOLE, chunk_lengths
from gpukit.random import key
from gpukit.streams import Keyed

CLASSES = 8  # of length per octave; with more, quads are more even, but chunks of a row are concurrent more often
UNEVEN = 1.1  # largest work of four workers in a part over the mean; beyond it rows are cut, if that helps
RANDOM_BITS, LENGTH_BITS = 16, 7  # of the sort keys of chunks


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
    cut = RowChunks(starts, steps.resident(before, np.int64), int(before[-1]))
    return table_of(cut, pace.workers, seed, steps, parts)


def pieces_of(counts, pace, parts):
    """Return the number of chunks of each row, (rows,).

    Rows of up to pace.whole ratings are one chunk. The limit is halved until every four workers of a part have about
    equal work.
    """
    longest = chunk_lengths(counts, pace.workers, pace.rate, (pace.shortest, pace.longest))
    cut, whole = -(-counts // longest), min(pace.whole, WHOLE)
    pieces = np.where(counts <= whole, np.minimum(counts, 1), cut)
    if not whole or (busy := max_load(counts, pieces, pace.workers, parts)) <= UNEVEN:
        return pieces
    bound = max(UNEVEN, max_load(counts, cut, pace.workers, parts))
    while whole and busy > bound:
        whole //= 2
        pieces = np.where(counts <= whole, np.minimum(counts, 1), cut)
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


def table_of(cut, workers, seed, steps, parts=1):
    """Return `cut_table` of RowChunks."""
    fours = max(1, workers // QUAD)
    rounds = parts * max(1, -(-cut.chunks // (QUAD * fours * parts)))
    table = order_in_quads(cut, rounds * fours, seed, steps)
    return deal_quads(table, (rounds // parts, fours), seed, steps, parts)


def order_in_quads(cut, quads, seed, steps):
    """Return the chunks (4 quads, 3) of RowChunks by falling class of length, in random order, then empty chunks."""
    starts, before, n = cut
    chunks, keys, places = steps.empty((n, 3), np.int64), steps.empty(n, np.uint64), steps.empty(n, np.uint32)
    random_key = np.uint32(key(seed, Keyed.CHUNK_ORDER[0]))
    classes = steps.resident(classes_of_length(), np.uint64)
    steps.run("cut_rows", starts, before, classes, RANDOM_BITS, random_key, chunks, keys, places)
    _, order, _ = steps.sort_by_bits(keys, 0, LENGTH_BITS + RANDOM_BITS, places)
    table = steps.empty((quads * QUAD, 3), np.int64)
    steps.run("take_chunks", chunks, order, n, table)
    return table


def classes_of_length():
    """Return the class of each length, (WHOLE + 1,) uint64, 0 for the longest."""
    octaves = np.log2(np.maximum(np.arange(WHOLE + 1), 1))
    return (np.ceil(CLASSES * np.log2(WHOLE)) - np.ceil(CLASSES * octaves)).astype(np.uint64)


def deal_quads(table, shape, seed, steps, parts=1):
    """Distribute the quads of a table over every four workers by falling length, then shuffle those of each.

    shape: (rounds, fours) of each part; the parts are consecutive. Quads are dealt in alternating direction, so that
    loads are equal; in several parts, where four workers have few quads of each, by `balance_quads`.
    """
    rounds, fours = shape
    quads = parts * rounds * fours
    keys, places = steps.empty(quads, np.uint64), steps.empty(quads, np.uint32)
    steps.run("fallen_lengths", table, WHOLE, keys, places)
    keys, order, _ = steps.sort_by_bits(keys, 0, WHOLE.bit_length(), places)
    if parts > 1:
        order = steps.resident(order_of_parts(WHOLE - steps.fetch(keys), steps.fetch(order), shape, parts), np.uint32)
    hands, out = steps.empty((rounds, parts * fours), np.uint32), steps.empty(table.shape, np.int64)
    steps.run("deal_hands", order, np.uint32(key(seed, Keyed.CHUNK_ORDER[1])), hands)
    if parts > 1:
        parted = steps.fetch(hands).reshape(rounds, parts, fours).transpose(1, 0, 2)
        hands = steps.resident(parted.reshape(-1, fours), np.uint32)
    steps.run("take_quads", table, hands, out)
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
