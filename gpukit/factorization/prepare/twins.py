"""CPU twins of kernels.py: the same names, the same arguments in the same order."""

import numpy as np

from gpukit._jit import njit, prange
from gpukit.factorization.model.formulas import first_factor
from gpukit.factorization.model.layout import BASE, BIAS, EXTRA
from gpukit.factorization.prepare.formulas import half_width, in_units, line_of, row_key, run_of
from gpukit.random import permuted

U32, U64 = np.uint32, np.uint64


@njit
def permute_all(key, half, table):
    """table[x] = permuted(key, x, half); vectorized."""
    for x in range(table.size):
        table[x] = permuted(key, U32(x), half)


@njit
def shuffle_row(key, begin, where):
    """The places of a row that begins at `begin`: as random.shuffled, whose walks are looked up in a table."""
    half, size = half_width(where.size), U32(where.size)
    table = np.empty(1 << (2 * half), np.uint32)
    permute_all(key, half, table)
    for t in range(where.size):
        x = table[t]
        while x >= size:
            x = table[x]
        where[t] = U32(begin + x)


@njit(parallel=True)
def shuffle_rows(starts, seed_key, where):
    """Twin of kernels.shuffle_rows."""
    for row in prange(starts.size - 1):
        shuffle_row(row_key(seed_key, row), starts[row], where[starts[row] : starts[row + 1]])


@njit(parallel=True)
def lay_out(where, others, codes, z, minor, values):
    """Twin of kernels.lay_out."""
    for t in prange(where.size):
        minor[where[t]] = others[t]
        values[where[t]] = z[codes[t]]


@njit(parallel=True)
def lay_out_values(where, places, ratings, mean, deviation, values):
    """Twin of kernels.lay_out_values."""
    for t in prange(where.size):
        values[where[t]] = np.float32(np.float32(ratings[places[t]] - mean) / deviation)


@njit(parallel=True)
def count_up(out):
    """Twin of kernels.count_up."""
    for t in prange(out.size):
        out[t] = U32(t)


@njit(parallel=True)
def follow(where, places, out):
    """Twin of kernels.follow."""
    for t in prange(places.size):
        out[t] = where[places[t]]


@njit(parallel=True)
def key_runs(starts, others, where, seats, blocks, count, turns, keys):
    """Twin of kernels.key_runs."""
    for row in prange(starts.size - 1):
        for t in range(starts[row], starts[row + 1]):
            keys[where[t]] = U64(run_of(np.int64(seats[row]), np.int64(blocks[others[t]]), count, turns))


@njit(parallel=True)
def turn_around(places, out):
    """Twin of kernels.turn_around."""
    for t in prange(places.size):
        out[places[t]] = U32(t)


@njit(parallel=True)
def cut_runs(starts, rows, count, turns, table):
    """Twin of kernels.cut_runs."""
    for r in prange(table.shape[0]):
        run = np.int64(r)
        line, length = line_of(run, count, turns), starts[run + 1] - starts[run]
        table[line, 0] = rows[run % (count * turns)] if length > 0 else 0
        table[line, 1] = starts[run] if length > 0 else 0
        table[line, 2] = length


@njit(parallel=True)
def raise_codes(codes, raised):
    """Twin of kernels.raise_codes."""
    for t in prange(codes.size):
        raised[t] = np.uint8(codes[t] + np.uint8(1))


@njit(parallel=True)
def residual_means(starts, others, codes, z, other_bias, damping, bias):
    """Twin of kernels.residual_means."""
    for row in prange(starts.size - 1):
        total, count = np.float64(0.0), np.float64(starts[row + 1] - starts[row])
        for t in range(starts[row], starts[row + 1]):
            total += np.float64(z[codes[t]]) - other_bias[others[t]]
        bias[row] = total / (count + damping) if count > 0 else 0.0


@njit(parallel=True)
def weighted_means(starts, others, codes, z, weights, other_bias, damping, bias):
    """Twin of kernels.weighted_means."""
    for row in prange(starts.size - 1):
        total, count = np.float64(0.0), np.float64(0.0)
        for t in range(starts[row], starts[row + 1]):
            weight = np.float64(weights[t])
            total += weight * (np.float64(z[codes[t]]) - other_bias[others[t]])
            count += weight
        bias[row] = total / (count + damping)


@njit(parallel=True)
def start_rows(seed_key, base, biased, n_factors, factors, extras):
    """Twin of kernels.start_rows; factors in float32."""
    at = extras.shape[1] - EXTRA
    for row in prange(extras.shape[0]):
        own = np.float32(base[row]) if row < base.size else np.float32(0.0)
        for f in range(at):
            wanted = f < n_factors and own != np.float32(0.0)
            factors[row, f] = first_factor(seed_key, U64(row * n_factors + f)) if wanted else np.float32(0.0)
        for e in range(EXTRA):
            there = e == BASE or (e == BIAS and biased)
            extras[row, at + e] = own if there else np.float32(0.0)


@njit(parallel=True)
def pack_near(neighbors, base, near, offsets):
    """Twin of kernels.pack_near."""
    for item in prange(near.shape[0]):
        for slot in range(near.shape[1]):
            there = item < neighbors.shape[0] and slot < neighbors.shape[1]
            near[item, slot] = neighbors[item, slot] if there else np.int32(-1)
            offsets[item, slot] = np.float32(base[near[item, slot]]) if there else np.float32(0.0)


@njit(parallel=True)
def count_keys(starts, most, keys, places):
    """Twin of kernels.count_keys."""
    for r in prange(keys.size):
        keys[r], places[r] = np.uint64(most - (starts[r + 1] - starts[r])), np.uint32(r)


@njit
def spread_rows(order, step, places):
    """Twin of kernels.spread_rows."""
    rows = order.size
    for k in range(rows):
        places[order[k]] = np.int32(k * step % rows)
    places[rows] = np.int32(rows)


@njit(parallel=True)
def rename_rows(places, minor):
    """Twin of kernels.rename_rows."""
    for t in prange(minor.size):
        minor[t] = places[minor[t]]


@njit(parallel=True)
def move_rows(table, places, out):
    """Twin of kernels.move_rows."""
    for r in prange(table.shape[0]):
        out[places[r]] = table[r]


@njit(parallel=True)
def take_rows(table, places, out):
    """Twin of kernels.take_rows."""
    for r in prange(out.shape[0]):
        out[r] = table[places[r]]


@njit(parallel=True)
def read_rows(factors, extras, own_factors, own_extras):
    """Twin of kernels.read_rows; factors in float32."""
    at = extras.shape[1] - EXTRA
    for row in prange(own_factors.shape[0]):
        for f in range(own_factors.shape[1]):
            own_factors[row, f] = factors[row, f]
        for e in range(own_extras.shape[1]):
            own_extras[row, e] = extras[row, at + e]


@njit(parallel=True)
def pack_pairs(users, items, keys):
    """Twin of kernels.pack_pairs."""
    for t in prange(users.size):
        keys[t] = (U64(users[t]) << U64(32)) | U64(items[t])


@njit(parallel=True)
def items_of(keys, items):
    """Twin of kernels.items_of."""
    for t in prange(keys.size):
        items[t] = np.int32(keys[t] & U64(0x7FFFFFFF))


@njit(parallel=True)
def error_sums(predicted, truth, deviation, mean, low, high, sums):
    """Twin of kernels.error_sums; a line of sums is a part of the pairs."""
    parts = sums.shape[0]
    for part in prange(parts):
        squares, sizes = np.float64(0.0), np.float64(0.0)
        for t in range(truth.size * part // parts, truth.size * (part + 1) // parts):
            error = np.float64(in_units(predicted[t], deviation, mean, low, high)) - np.float64(truth[t])
            squares += error * error
            sizes += abs(error)
        sums[part, 0], sums[part, 1] = squares, sizes
