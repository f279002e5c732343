"""CPU twins of kernels.py, with the same names and order of arguments."""

import numpy as np

from gpukit._jit import njit
from gpukit.factorization.model.layout import BASE, BIAS, EXTRA
from gpukit.factorization.prepare.formulas import first_factor, half_width, in_units, line_of, row_key, run_of
from gpukit.random import permute
from gpukit.scheduler import by_block

U32, U64 = np.uint32, np.uint64


@njit
def permute_all(key, half, table):
    """table[x] = permuted(key, x, half), vectorized."""
    for x in range(table.size):
        table[x] = permute(key, U32(x), half)


@njit
def shuffle_row(key, begin, where):
    """Return the positions in a row that begins at `begin`: random.shuffle_index with its cycles in a table."""
    half, size = half_width(where.size), U32(where.size)
    table = np.empty(1 << (2 * half), np.uint32)
    permute_all(key, half, table)
    for t in range(where.size):
        x = table[t]
        while x >= size:
            x = table[x]
        where[t] = U32(begin + x)


@by_block(lambda starts: starts.size - 1)
def shuffle_rows(start, stop, starts, numbers, seed_key, where):
    """Twin of kernels.shuffle_rows."""
    for row in range(start, stop):
        shuffle_row(row_key(seed_key, numbers[row]), starts[row], where[starts[row] : starts[row + 1]])


@by_block(lambda where: where.size)
def lay_out(start, stop, where, others, codes, z, minor, values):
    """Twin of kernels.lay_out."""
    for k in range(stop - start):
        t = start + k
        minor[where[t]] = others[t]
        values[where[t]] = z[codes[t]]


@by_block(lambda where: where.size)
def lay_out_values(start, stop, where, places, ratings, mean, deviation, values):
    """Twin of kernels.lay_out_values."""
    for k in range(stop - start):
        t = start + k
        values[where[t]] = np.float32(np.float32(ratings[places[t]] - mean) / deviation)


@by_block(lambda out: out.size)
def count_up(start, stop, out):
    """Twin of kernels.count_up."""
    for k in range(stop - start):
        t = start + k
        out[t] = U32(t)


@by_block(lambda places: places.size)
def follow(start, stop, where, places, out):
    """Twin of kernels.follow."""
    for k in range(stop - start):
        t = start + k
        out[t] = where[places[t]]


@by_block(lambda starts: starts.size - 1)
def key_runs(start, stop, starts, others, where, seats, blocks, count, turns, keys):
    """Twin of kernels.key_runs."""
    for row in range(start, stop):
        for t in range(starts[row], starts[row + 1]):
            keys[where[t]] = U64(run_of(np.int64(seats[row]), np.int64(blocks[others[t]]), count, turns))


@by_block(lambda places: places.size)
def turn_around(start, stop, places, out):
    """Twin of kernels.turn_around."""
    for k in range(stop - start):
        t = start + k
        out[places[t]] = U32(t)


@by_block(lambda table: table.shape[0])
def cut_runs(start, stop, starts, rows, count, turns, table):
    """Twin of kernels.cut_runs."""
    for k in range(stop - start):
        run = start + k
        line, length = line_of(run, count, turns), starts[run + 1] - starts[run]
        table[line, 0] = rows[run % (count * turns)] if length > 0 else 0
        table[line, 1] = starts[run] if length > 0 else 0
        table[line, 2] = length


def raise_codes(codes, raised):
    """Twin of kernels.raise_codes."""
    np.add(codes, np.uint8(1), out=raised)


@by_block(lambda starts: starts.size - 1)
def residual_means(start, stop, starts, others, codes, z, other_bias, damping, bias):
    """Twin of kernels.residual_means."""
    for row in range(start, stop):
        total, count = np.float64(0.0), np.float64(starts[row + 1] - starts[row])
        for t in range(starts[row], starts[row + 1]):
            total += np.float64(z[codes[t]]) - other_bias[others[t]]
        bias[row] = total / (count + damping) if count > 0 else 0.0


@by_block(lambda starts: starts.size - 1)
def weighted_means(start, stop, starts, others, codes, z, weights, other_bias, damping, bias):
    """Twin of kernels.weighted_means."""
    for row in range(start, stop):
        total, count = np.float64(0.0), np.float64(0.0)
        for t in range(starts[row], starts[row + 1]):
            weight = np.float64(weights[t])
            total += weight * (np.float64(z[codes[t]]) - other_bias[others[t]])
            count += weight
        bias[row] = total / (count + damping)


@by_block(lambda extras: extras.shape[0])
def start_rows(start, stop, seed_key, numbers, base, biased, n_factors, factors, extras):
    """Twin of kernels.start_rows; factors in float32."""
    position = extras.shape[1] - EXTRA
    for row in range(start, stop):
        row_base = np.float32(base[row]) if row < base.size else np.float32(0.0)
        first = U64(numbers[row]) * U64(n_factors) if row < base.size else U64(0)
        for f in range(position):
            wanted = f < n_factors and row_base != np.float32(0.0)
            factors[row, f] = first_factor(seed_key, first + U64(f)) if wanted else np.float32(0.0)
        for e in range(EXTRA):
            is_base = e == BASE or (e == BIAS and biased)
            extras[row, position + e] = row_base if is_base else np.float32(0.0)


def pack_near(neighbors, base, near, offsets):
    """Twin of kernels.pack_near."""
    near[:], offsets[:], (items, slots) = -1, 0, neighbors.shape
    near[:items, :slots], offsets[:items, :slots] = neighbors, base[neighbors]


def count_keys(starts, most, keys, places):
    """Twin of kernels.count_keys."""
    keys[:], places[:] = most - np.diff(starts[: keys.size + 1]), np.arange(keys.size)


def spread_rows(order, step, places):
    """Twin of kernels.spread_rows."""
    rows = order.size
    places[order], places[rows] = np.arange(rows) * step % rows, rows


def move_rows(table, places, out):
    """Twin of kernels.move_rows."""
    out[places] = table


def take_rows(table, places, out):
    """Twin of kernels.take_rows."""
    out[:] = table[places]


def read_rows(factors, extras, own_factors, own_extras):
    """Twin of kernels.read_rows."""
    rows, position = len(own_factors), extras.shape[1] - EXTRA
    own_factors[:] = factors[:rows, : own_factors.shape[1]]
    own_extras[:] = extras[:rows, position : position + own_extras.shape[1]]


@by_block(lambda users: users.size)
def pack_pairs(start, stop, users, items, keys):
    """Twin of kernels.pack_pairs."""
    for k in range(stop - start):
        t = start + k
        keys[t] = (U64(users[t]) << U64(32)) | U64(items[t])


def items_of(keys, items):
    """Twin of kernels.items_of; the lower halves come first."""
    items[:] = keys.view(np.int32)[::2]


@by_block(lambda sums: sums.shape[0], heavy=True)
def error_sums(start, stop, predicted, truth, deviation, mean, low, high, sums):
    """Twin of kernels.error_sums; each line of sums has a part of the pairs."""
    parts = sums.shape[0]
    for part in range(start, stop):
        squares, sizes = np.float64(0.0), np.float64(0.0)
        for t in range(truth.size * part // parts, truth.size * (part + 1) // parts):
            error = np.float64(in_units(predicted[t], deviation, mean, low, high)) - np.float64(truth[t])
            squares += error * error
            sizes += abs(error)
        sums[part, 0], sums[part, 1] = squares, sizes
