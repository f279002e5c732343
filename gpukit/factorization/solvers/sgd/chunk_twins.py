"""CPU twins of kernels.py."""

import numpy as np

from gpukit.factorization.solvers.sgd.schedule import QUAD
from gpukit.random import below, bits
from gpukit.scheduler import by_block


@by_block(lambda before: before.size - 1)
def cut_rows(start, stop, starts, before, classes, random_bits, random_key, chunks, keys, places):
    """Twin of kernels.cut_rows."""
    for row in range(start, stop):
        begin, size = starts[row], starts[row + 1] - starts[row]
        pieces = before[row + 1] - before[row]
        for piece in range(pieces):
            low, high = piece * size // pieces, (piece + 1) * size // pieces
            c = before[row] + piece
            chunks[c, 0], chunks[c, 1], chunks[c, 2] = row, begin + low, high - low
            random = np.uint64(bits(random_key, c)) >> np.uint64(32 - random_bits)
            keys[c] = np.uint64(classes[high - low] << np.uint64(random_bits)) | random
            places[c] = np.uint32(c)


@by_block(lambda table: table.shape[0])
def take_chunks(start, stop, chunks, order, n, table):
    """Twin of kernels.take_chunks."""
    for k in range(stop - start):
        t = start + k
        for part in range(3):
            table[t, part] = chunks[order[t], part] if t < n else 0


@by_block(lambda keys: keys.size)
def fallen_lengths(start, stop, table, longest, keys, places):
    """Twin of kernels.fallen_lengths."""
    for k in range(stop - start):
        q, length = start + k, 0
        for part in range(QUAD):
            length = max(length, table[QUAD * q + part, 2])
        keys[q], places[q] = np.uint64(longest - length), np.uint32(q)


@by_block(lambda hands: hands.shape[1])
def deal_hands(start, stop, order, random_key, hands):
    """Twin of kernels.deal_hands."""
    rounds, fours = hands.shape
    for m in range(start, stop):
        for r in range(rounds):
            hands[r, m] = order[r * fours + (m if r % 2 == 0 else fours - 1 - m)]
        for last in range(rounds - 1, 0, -1):
            other = below(random_key, m * rounds + last, last + 1)
            hands[last, m], hands[other, m] = hands[other, m], hands[last, m]


@by_block(lambda out: out.shape[0])
def take_quads(start, stop, table, hands, out):
    """Twin of kernels.take_quads."""
    fours = hands.shape[1]
    for k in range(stop - start):
        t = start + k
        quad, part = t // QUAD, t % QUAD
        there = QUAD * np.int64(hands[quad // fours, quad % fours]) + part
        for column in range(3):
            out[t, column] = table[there, column]
