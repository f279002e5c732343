"""CPU twin of kernels.py, with threads instead of groups of lanes.

With one worker the chunks are processed in order, so a run is repeatable to the bit. Several workers update the minor
rows without locks (Hogwild); with few threads a lost update is rare.

In the loop over ratings, reference counts of arrays would cost more than the maths. Tuples of arrays are therefore
unpacked before it, and functions that it calls are inlined or call nothing with arrays. Indices are unsigned, because
signed ones are tested for negative values.
"""

import numpy as np

from gpukit._jit import njit
from gpukit.factorization.model.layout import BASE, BIAS, EXTRA, SQUARES
from gpukit.factorization.solvers.sgd import formulas
from gpukit.factorization.solvers.sgd.formulas import ONE, PLAIN, RUN, ZERO, spread_bits
from gpukit.factorization.solvers.sgd.schedule import QUAD
from gpukit.factorization.twins import dot, residuals, terms
from gpukit.random import bits, integer_below
from gpukit.scheduler import by_block

U32, U64, I32 = np.uint32, np.uint64, np.int32


@njit
def _weights_of(batch):
    """Return the weights of an arrays.WeightedBatch, None for a Batch."""
    if len(batch) > PLAIN:
        return batch.weights
    return None


@njit
def _weight_at(weights, t):
    """formulas.weight_of for the result of `_weights_of`."""
    if weights is None:
        return ONE
    return weights[t]


@njit
def learn_influence(own, signal, mask, error, rate, decay):
    """Apply Eq. (5) to w or c of one item; mask[k]: 1 for the neighbours concerned, else 0; error: |S|^-1/2 e."""
    for k in range(own.size):
        before = own[k]
        own[k] = before + mask[k] * formulas.influence_change(before, error * signal[k], rate, decay)


@njit
def learn_factors(p, q, n, error, own_rate, other_rate, decay):
    """Apply Eq. (5) to both factor rows, each from the other's old value."""
    for f in range(n):
        u, v = p[f], q[f]
        p[f] = u + formulas.factor_change(u, v, error, own_rate, decay)
        q[f] = v + formulas.factor_change(v, u, error, other_rate, decay)


@njit
def _learn_extra(extra, error, weight, rates):
    """Apply Eq. (5) to the bias, and update the row's sum of squared errors."""
    rate = weight * formulas.row_rate(rates.bias, rates.bias_gain, extra[SQUARES])
    extra[BIAS] += formulas.bias_change(extra[BIAS], error, rate, rates.bias_decay)
    extra[SQUARES] += weight * (error * error)


@njit(inline="always")
def learn(p, p_extra, q, q_extra, n, error, weight, rates):
    """Apply Eq. (5) to the rows of one rating."""
    own_rate = weight * formulas.row_rate(rates.factor, rates.factor_gain, p_extra[SQUARES])
    other_rate = weight * formulas.row_rate(rates.factor, rates.factor_gain, q_extra[SQUARES])
    learn_factors(p, q, n, error, own_rate, other_rate, rates.factor_decay)
    _learn_extra(p_extra, error, weight, rates)
    _learn_extra(q_extra, error, weight, rates)


@njit(inline="always")
def _walk(chunk, shift, batch, parameters, rates, scratch):
    """Process one chunk: consecutive ratings of one major row, from `shift` on, cyclically; scratch (3, K)."""
    (minor, values, codes, levels, weights), (P, Q, influence, offsets) = batch, parameters
    row, first, length = chunk[0], chunk[1], chunk[2]
    n, size = Q.shape[1] - EXTRA, codes.shape[1]
    p, p_extra = P[row], P[row, n:]
    item = row if size else 0
    offset, w, c = offsets[item], influence[item, :size], influence[item, size:]
    residual, rated, unrated = scratch[0], scratch[1], scratch[2]
    for step in range(length):
        t = U64(first + (step + shift if step + shift < length else step + shift - length))
        other = U64(minor[t])
        q, q_extra = Q[other], Q[other, n:]
        explicit, implicit, near = ZERO, ZERO, ZERO
        if size:
            explicit, implicit = residuals(codes[t], levels, offset, q_extra[BASE], residual, rated, unrated)
            near = terms(residual, unrated, w, c, explicit, implicit)
        weight = _weight_at(weights, t)
        error = values[t] - (dot(p, q, n) + p_extra[BIAS] + q_extra[BIAS] + near)
        if size:
            rate = weight * formulas.row_rate(rates.influence, rates.factor_gain, p_extra[SQUARES])
            learn_influence(w, residual, rated, explicit * error, rate, rates.influence_decay)
            learn_influence(c, unrated, unrated, implicit * error, rate, rates.influence_decay)
        learn(p, p_extra, q, q_extra, n, error, weight, rates)


@njit
def _work(worker, workers, chunks, turn, batch, parameters, rates):
    """Process all chunks of a worker."""
    ratings = batch.minor, batch.values, batch.codes, batch.levels, _weights_of(batch)
    scratch = np.empty((3, batch.codes.shape[1]), np.float32)
    for c in range(worker, chunks.shape[0], workers):
        length = chunks[c, 2]
        if length > 0:
            _walk(chunks[c], integer_below(turn, c, length), ratings, parameters, rates, scratch)


@by_block(lambda workers: workers, heavy=True)
def sgd_epoch(start, stop, chunks, batch, parameters, rates, turn, workers):
    """Twin of kernels.sgd_epoch."""
    for worker in range(start, stop):
        _work(worker, workers, chunks, turn, batch, parameters, rates)


@njit
def grow_rows(minor, every, share, Q):
    """Twin of kernels.make_grow_rows, with factors in float32."""
    first = Q.shape[1] - EXTRA
    for run in range(0, minor.size, RUN * every):
        for t in range(run, min(run + RUN, minor.size)):
            row = Q[np.uint32(minor[t])]
            for i in range(first + SQUARES + 1):
                row[i] += np.float32(share * row[i])


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


def fallen_lengths(chunks, order, n, longest, keys, places):
    """Twin of kernels.fallen_lengths."""
    lengths = np.zeros(QUAD * keys.size, np.int64)
    lengths[:n] = chunks[order[:n], 2]
    keys[:], places[:] = longest - lengths.reshape(-1, QUAD).max(axis=1), np.arange(keys.size)


@by_block(lambda hands: hands.shape[1])
def deal_hands(start, stop, order, random_key, hands):
    """Twin of kernels.deal_hands."""
    rounds, fours = hands.shape
    for m in range(start, stop):
        for r in range(rounds):
            hands[r, m] = order[r * fours + (m if r % 2 == 0 else fours - 1 - m)]
        for last in range(rounds - 1, 0, -1):
            other = integer_below(random_key, m * rounds + last, last + 1)
            hands[last, m], hands[other, m] = hands[other, m], hands[last, m]


def take_quads(chunks, order, n, hands, out):
    """Twin of kernels.take_quads."""
    quads = np.zeros(out.shape, np.int64)
    quads[:n] = chunks[order[:n]]
    out[:] = quads.reshape(-1, QUAD, 3)[hands.ravel()].reshape(-1, 3)


def unpack_ratings(packed, n, width, level_bits, z, minor, values):
    """Twin of kernels.unpack_ratings."""
    numbers = packed[: n * width].reshape(n, width).astype(U64) << U64(8) * np.arange(width, dtype=U64)
    numbers = numbers.sum(axis=1, dtype=U64)
    minor[:n] = numbers >> U64(level_bits)
    if level_bits:
        values[:n] = z[numbers & U64((1 << level_bits) - 1)]


@by_block(lambda n: n)
def unpack_codes(start, stop, packed, n, bits, codes):
    """Twin of kernels.unpack_codes."""
    for place in range(start, stop):
        first, shift = place // 8 * bits, U32(4 * (place % 8))
        word, common_bits = U32(0), U32(15)
        for plane in range(bits):
            four = U32(U32(packed[first + plane] >> shift) & U32(15))
            word |= U32(spread_bits(four) << U32(plane))
            common_bits &= four
        codes[place] = U32(word | U32(spread_bits(common_bits) * U32(255)))
