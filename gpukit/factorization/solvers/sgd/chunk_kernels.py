"""GPU kernels of the chunk tables; twins.py has their CPU twins."""

import numpy as np

from gpukit._cuda import cuda, kernel
from gpukit.factorization.solvers.sgd.schedule import QUAD
from gpukit.random import below, bits

U32, U64, I64 = np.uint32, np.uint64, np.int64


@kernel
def cut_rows(starts, before, classes, random_bits, random_key, chunks, keys, places):
    """Cut rows into pieces of about equal length: chunk before[r] + p is piece p of row r.

    starts (rows + 1 or more,) int64: first rating of each row; before (rows + 1,) int64: chunks of the rows before
    each; classes (longest + 1,) uint64: class of each length; random_bits int64; random_key uint32; overwritten: chunks
    (n, 3) int64 (row, first rating, ratings), keys (n,) uint64: class, then random_bits random bits, places (n,)
    uint32: 0, 1, ...
    Launch: any grid and block; a block processes whole rows.
    Deterministic: yes, exact.
    Source: ours.
    """
    for row in range(I64(cuda.blockIdx.x), I64(before.size - 1), I64(cuda.gridDim.x)):
        begin, first = I64(starts[U64(row)]), I64(before[U64(row)])
        size, pieces = I64(starts[U64(row + 1)]) - begin, I64(before[U64(row + 1)]) - first
        for piece in range(I64(cuda.threadIdx.x), pieces, I64(cuda.blockDim.x)):
            low, high = piece * size // pieces, (piece + 1) * size // pieces
            c = U64(first + piece)
            chunks[c, 0], chunks[c, 1], chunks[c, 2] = row, begin + low, high - low
            random = U64(bits(random_key, c)) >> U64(32 - random_bits)
            keys[c] = U64(classes[U64(high - low)] << U64(random_bits)) | random
            places[c] = U32(c)


@kernel
def take_chunks(chunks, order, n, table):
    """table[t] = chunks[order[t]] for t < n, then chunks without ratings.

    chunks (n, 3) int64; order (n,) uint32; n int64; table (at least n, 3) int64, overwritten.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    for t in range(I64(cuda.grid(1)), I64(table.shape[0]), I64(cuda.gridsize(1))):
        for part in range(3):
            table[U64(t), part] = chunks[U64(order[U64(t)]), part] if t < n else I64(0)


@kernel
def fallen_lengths(table, longest, keys, places):
    """keys[q] = longest - length of the longest chunk of quad q; places[q] = q.

    table (4 quads, 3) int64; longest int64; keys (quads,) uint64 and places (quads,) uint32, overwritten.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    for q in range(I64(cuda.grid(1)), I64(keys.size), I64(cuda.gridsize(1))):
        length = I64(0)
        for part in range(QUAD):
            length = max(length, I64(table[U64(QUAD * q + part), 2]))
        keys[U64(q)], places[U64(q)] = U64(longest - length), U32(q)


@kernel
def deal_hands(order, random_key, hands):
    """Deal quads in alternating direction: hands[r, m] is the r-th quad of the four workers m, in random order.

    order (rounds * fours,) uint32: quads, mostly by falling length; random_key uint32; hands (rounds, fours) uint32,
    overwritten: hand m gets place m of even rounds, place fours - 1 - m of odd ones, and is shuffled.
    Launch: any grid and block; one thread for each hand.
    Deterministic: yes, exact.
    Source: Fisher and Yates's shuffle (Knuth, The Art of Computer Programming 2, 3.4.2, algorithm P).
    """
    rounds, fours = I64(hands.shape[0]), I64(hands.shape[1])
    for m in range(I64(cuda.grid(1)), fours, I64(cuda.gridsize(1))):
        for r in range(rounds):
            place = m if r % 2 == 0 else fours - 1 - m
            hands[U64(r), U64(m)] = order[U64(r * fours + place)]
        for last in range(rounds - 1, 0, -1):
            other = below(random_key, U32(m * rounds + last), last + 1)
            own, others = hands[U64(last), U64(m)], hands[U64(other), U64(m)]
            hands[U64(last), U64(m)], hands[U64(other), U64(m)] = others, own


@kernel
def take_quads(table, hands, out):
    """Quad q of out = quad hands[q] of table, with hands in row-major order.

    table, out (4 quads, 3) int64, out overwritten; hands (rounds, fours) uint32.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    fours = I64(hands.shape[1])
    for t in range(I64(cuda.grid(1)), I64(out.shape[0]), I64(cuda.gridsize(1))):
        quad, part = t // I64(QUAD), t % I64(QUAD)
        there = U64(I64(hands[U64(quad // fours), U64(quad % fours)]) * I64(QUAD) + part)
        for column in range(3):
            out[U64(t), column] = table[there, column]
