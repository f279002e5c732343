"""GPU kernels of the preparation; twins.py has their CPU twins."""

import numpy as np

from gpukit._cuda import cuda, device, kernel
from gpukit.factorization.model.layout import BASE, BIAS, EXTRA
from gpukit.factorization.prepare.formulas import first_factor, half_width, in_units, line_of, run_of, shuffled_place
from gpukit.primitives.warp import FULL

U32, U64, I64 = np.uint32, np.uint64, np.int64
WARPS = 8  # of a block that computes sums: 256 threads


@kernel
def shuffle_rows(starts, numbers, seed_key, where):
    """where[t] = position of rating t after every row is shuffled.

    starts (rows + 1,) int64; numbers (rows or more,) uint32: number of each row, which its permutation depends on;
    seed_key uint32; where (n,) uint32, overwritten: a permutation within each row.
    Launch: any grid and block; a block processes whole rows.
    Deterministic: yes, exact.
    Source: ours (Feistel permutations, Black and Rogaway 2002).
    """
    for row in range(I64(cuda.blockIdx.x), I64(starts.size - 1), I64(cuda.gridDim.x)):
        begin, end = I64(starts[U64(row)]), I64(starts[U64(row + 1)])
        half, number = half_width(end - begin), numbers[U64(row)]
        for t in range(begin + I64(cuda.threadIdx.x), end, I64(cuda.blockDim.x)):
            where[U64(t)] = U32(begin + I64(shuffled_place(seed_key, number, t - begin, half, end - begin)))


@kernel
def lay_out(where, others, codes, z, minor, values):
    """minor[where[t]], values[where[t]] = others[t], z[codes[t]].

    where (n,) uint32, a permutation; others (n,) int32; codes (n,) uint8; z (256,) float32 of a code; minor (n,) int32
    and values (n,) float32, overwritten.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    for t in range(I64(cuda.grid(1)), I64(where.size), I64(cuda.gridsize(1))):
        target = U64(where[U64(t)])
        minor[target] = others[U64(t)]
        values[target] = z[U32(codes[U64(t)])]


@kernel
def lay_out_values(where, places, ratings, mean, deviation, values):
    """values[where[t]] = (r - mean) / deviation of the rating places[t].

    where, places (n,) uint32; ratings (n,) float32; mean, deviation float32; values (n,) float32, overwritten.
    Launch: any grid and block.
    Deterministic: yes; budget.
    Source: ours.
    """
    for t in range(I64(cuda.grid(1)), I64(where.size), I64(cuda.gridsize(1))):
        value = ratings[U64(places[U64(t)])]
        values[U64(where[U64(t)])] = np.float32(np.float32(value - mean) / deviation)


@kernel
def count_up(out):
    """out[t] = t.

    out (n,) uint32, overwritten.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    for t in range(I64(cuda.grid(1)), I64(out.size), I64(cuda.gridsize(1))):
        out[U64(t)] = U32(t)


@kernel
def follow(where, places, out):
    """out[t] = where[places[t]].

    where (any,), places, out (n,) uint32 or int32, not negative; out is overwritten and may be `places`.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    for t in range(I64(cuda.grid(1)), I64(places.size), I64(cuda.gridsize(1))):
        out[U64(t)] = where[U64(places[U64(t)])]


@kernel
def key_runs(starts, others, where, seats, blocks, count, turns, keys):
    """keys[where[t]] = run of rating t in Gemulla's schedule: its stratum, block and turn.

    starts (rows + 1,) int64; others (n,) int32: minor rows; where (n,) uint32, a permutation; seats (rows,) int32:
    block * turns + turn of a major row; blocks int32: block of each minor row; count: number of blocks; turns of a
    block; keys (n,) uint64, overwritten: (stratum * count + block) * turns + turn.
    Launch: any grid and block; a block processes whole rows.
    Deterministic: yes, exact.
    Source: Gemulla et al. 2011.
    """
    for row in range(I64(cuda.blockIdx.x), I64(starts.size - 1), I64(cuda.gridDim.x)):
        for t in range(I64(starts[U64(row)]) + I64(cuda.threadIdx.x), I64(starts[U64(row + 1)]), I64(cuda.blockDim.x)):
            run = run_of(I64(seats[U64(row)]), I64(blocks[U64(others[U64(t)])]), I64(count), I64(turns))
            keys[U64(where[U64(t)])] = U64(run)


@kernel
def turn_around(places, out):
    """out[places[t]] = t, the inverse of a permutation.

    places (n,) uint32, a permutation; out (n,) uint32, overwritten.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    for t in range(I64(cuda.grid(1)), I64(places.size), I64(cuda.gridsize(1))):
        out[U64(places[U64(t)])] = U32(t)


@kernel
def cut_runs(starts, rows, count, turns, table):
    """Make a chunk of every run of key_runs; the chunks of one turn are adjacent, one for each block.

    starts (runs + 1,) int64: first rating of each run; rows (count * turns,) int32: row of each seat, any for a free
    one; count: number of blocks; turns of a block; table (runs, 3) int64, overwritten: row, first rating and length, in
    line (stratum * turns + turn) * count + block; zeros for a run without ratings.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    for run in range(I64(cuda.grid(1)), I64(table.shape[0]), I64(cuda.gridsize(1))):
        seat, line = run % (I64(count) * I64(turns)), line_of(run, I64(count), I64(turns))
        length = I64(starts[U64(run + 1)]) - I64(starts[U64(run)])
        table[U64(line), 0] = I64(rows[U64(seat)]) if length > 0 else I64(0)
        table[U64(line), 1] = I64(starts[U64(run)]) if length > 0 else I64(0)
        table[U64(line), 2] = length


@kernel
def raise_codes(codes, raised):
    """raised[t] = codes[t] + 1; code 0 means not rated.

    codes, raised (n,) uint8; raised is overwritten.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    for t in range(I64(cuda.grid(1)), I64(codes.size), I64(cuda.gridsize(1))):
        raised[U64(t)] = np.uint8(codes[U64(t)] + np.uint8(1))


@device
def block_sum(value, parts):
    """Return the sum of value (float64) over the block; parts (WARPS,) float64 in shared memory.

    All threads of the block must call it, in whole warps.
    """
    reach = 16
    while reach:
        value += cuda.shfl_xor_sync(FULL, value, reach)
        reach >>= 1
    if cuda.laneid == 0:
        parts[U32(cuda.threadIdx.x) // U32(32)] = value
    cuda.syncthreads()
    total = np.float64(0.0)
    for warp in range(cuda.blockDim.x // 32):
        total += parts[warp]
    cuda.syncthreads()
    return total


@kernel
def residual_means(starts, others, codes, z, other_bias, damping, bias):
    """bias[row] = sum(z - other_bias) / (n + damping) over a row's ratings, 0 without any.

    This is the paper's simple case of Eq. (1) with damping. starts (rows + 1,) int64; others (n,) int32; codes (n,)
    uint8; z (256,) float32 of each code; other_bias float64 of the other side's rows; damping float64; bias (rows,)
    float64, overwritten.
    Launch: any grid, blocks of a multiple of 32 threads, at most 256; a block sums whole rows.
    Deterministic: yes; budget.
    Source: Koren 2010, sec. 2.1.
    """
    parts = cuda.shared.array(WARPS, np.float64)
    for row in range(I64(cuda.blockIdx.x), I64(starts.size - 1), I64(cuda.gridDim.x)):
        begin, end = I64(starts[U64(row)]), I64(starts[U64(row + 1)])
        if begin == end:  # the same for the whole block
            if cuda.threadIdx.x == 0:
                bias[U64(row)] = np.float64(0.0)
            continue
        total = np.float64(0.0)
        for t in range(begin + I64(cuda.threadIdx.x), end, I64(cuda.blockDim.x)):
            total += np.float64(z[U32(codes[U64(t)])]) - other_bias[U32(others[U64(t)])]
        total = block_sum(total, parts)
        if cuda.threadIdx.x == 0:
            bias[U64(row)] = total / (np.float64(end - begin) + damping)


@kernel
def weighted_means(starts, others, codes, z, weights, other_bias, damping, bias):
    """bias[row] = sum(w (z - other_bias)) / (sum(w) + damping): residual_means of weighted ratings.

    weights (n,) float32; starts, others, codes, z, other_bias, damping, bias: see residual_means.
    Launch: any grid, blocks of a multiple of 32 threads, at most 256; a block sums whole rows.
    Deterministic: yes; budget.
    Source: Koren 2010, sec. 2.1.
    """
    parts = cuda.shared.array(WARPS, np.float64)
    for row in range(I64(cuda.blockIdx.x), I64(starts.size - 1), I64(cuda.gridDim.x)):
        total, count = np.float64(0.0), np.float64(0.0)
        for t in range(I64(starts[U64(row)]) + I64(cuda.threadIdx.x), I64(starts[U64(row + 1)]), I64(cuda.blockDim.x)):
            weight = np.float64(weights[U64(t)])
            total += weight * (np.float64(z[U32(codes[U64(t)])]) - other_bias[U32(others[U64(t)])])
            count += weight
        total, count = block_sum(total, parts), block_sum(count, parts)
        if cuda.threadIdx.x == 0:
            bias[U64(row)] = total / (count + damping)


@kernel
def start_rows(seed_key, numbers, base, biased, n_factors, factors, extras):
    """Initialize parameter rows: small random factors, the bias at the baseline or at 0.

    seed_key uint32; numbers (rows,) uint32: number of each row, which its factors depend on; base (rows,) float64
    baseline biases, in z; biased int32: biases start at the baseline; n_factors int32; factors (rows + 1, any) float32
    or float16 and extras (rows + 1, stride) float32, overwritten: two views of one table, whose rows end with 8 float32
    extras. The last row, of unknown ids, is zero. The factors of rows without a baseline bias are zero, too.
    Launch: any grid and block; a block processes whole rows.
    Deterministic: yes, exact.
    Source: ours.
    """
    position = I64(extras.shape[1] - EXTRA)
    width = position * I64(factors.shape[1] // extras.shape[1])
    for row in range(I64(cuda.blockIdx.x), I64(extras.shape[0]), I64(cuda.gridDim.x)):
        row_base = np.float32(base[U64(row)]) if row < base.size else np.float32(0.0)
        first = U64(numbers[U64(row)]) * U64(n_factors) if row < base.size else U64(0)
        for f in range(I64(cuda.threadIdx.x), width, I64(cuda.blockDim.x)):
            wanted = f < n_factors and row_base != np.float32(0.0)
            value = first_factor(seed_key, first + U64(f)) if wanted else np.float32(0.0)
            factors[U64(row), U64(f)] = value
        for e in range(I64(cuda.threadIdx.x), I64(EXTRA), I64(cuda.blockDim.x)):
            is_base = e == BASE or (e == BIAS and biased)
            extras[U64(row), U64(position + e)] = row_base if is_base else np.float32(0.0)


@kernel
def pack_near(neighbors, base, near, offsets):
    """near, offsets = neighbours of each item and their baseline biases; -1 and 0 in free slots and the last row.

    neighbors (N, K) int32; base (N,) float64, in z; near (N + 1, slots) int32 and offsets (N + 1, slots) float32,
    overwritten.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    slots = I64(near.shape[1])
    for t in range(I64(cuda.grid(1)), I64(near.size), I64(cuda.gridsize(1))):
        item, slot = U64(t // slots), U64(t % slots)
        is_present = item < neighbors.shape[0] and slot < neighbors.shape[1]
        other = neighbors[item, slot] if is_present else np.int32(-1)
        near[item, slot] = other
        offsets[item, slot] = np.float32(base[U64(other)]) if is_present else np.float32(0.0)


@kernel
def count_keys(starts, most, keys, places):
    """keys[r] = most - number of ratings of row r; places[r] = r.

    starts (rows + 1 or more,) int64: first rating of each row; most int64; keys (rows,) uint64 and places (rows,)
    uint32, overwritten.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    for r in range(I64(cuda.grid(1)), I64(keys.size), I64(cuda.gridsize(1))):
        keys[U64(r)], places[U64(r)] = U64(most - (starts[U64(r + 1)] - starts[U64(r)])), U32(r)


@kernel
def spread_rows(order, step, places):
    """places[order[k]] = k * step mod rows: storage positions of rows, `step` positions apart in the given order.

    order (rows,) uint32, a permutation; step int64, coprime with rows; places (rows + 1,) int32, overwritten: a
    permutation, whose last row, of unknown ids, stays the last.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    rows = I64(order.size)
    for k in range(I64(cuda.grid(1)), rows + 1, I64(cuda.gridsize(1))):
        if k < rows:
            places[order[U64(k)]] = np.int32(k * step % rows)
        else:
            places[U64(rows)] = np.int32(rows)


@kernel
def move_rows(table, places, out):
    """out[places[r]] = table[r], row by row.

    table (rows, width) and out (any, width) float32, out's rows overwritten; places (rows,) int32, all different.
    Launch: any grid and block; a block copies whole rows.
    Deterministic: yes, exact.
    Source: ours.
    """
    for r in range(I64(cuda.blockIdx.x), I64(table.shape[0]), I64(cuda.gridDim.x)):
        target = U64(places[U64(r)])
        for f in range(I64(cuda.threadIdx.x), I64(table.shape[1]), I64(cuda.blockDim.x)):
            out[target, U64(f)] = table[U64(r), U64(f)]


@kernel
def take_rows(table, places, out):
    """out[r] = table[places[r]], row by row: the inverse of move_rows.

    table (any, width) and out (rows, width) float32, out overwritten; places (rows,) int32.
    Launch: any grid and block; a block copies whole rows.
    Deterministic: yes, exact.
    Source: ours.
    """
    for r in range(I64(cuda.blockIdx.x), I64(out.shape[0]), I64(cuda.gridDim.x)):
        target = U64(places[U64(r)])
        for f in range(I64(cuda.threadIdx.x), I64(out.shape[1]), I64(cuda.blockDim.x)):
            out[U64(r), U64(f)] = table[target, U64(f)]


@kernel
def read_rows(factors, extras, own_factors, own_extras):
    """own_factors, own_extras = factors and first extras of a table: the parameters that a model stores.

    factors (rows + 1, any) float32 or float16 and extras (rows + 1, stride) float32: two views of one table, as in
    start_rows; own_factors (rows, F) float32, own_extras (rows, 3) float32, overwritten.
    Launch: any grid and block; a block processes whole rows.
    Deterministic: yes, exact.
    Source: ours.
    """
    position = I64(extras.shape[1] - EXTRA)
    for row in range(I64(cuda.blockIdx.x), I64(own_factors.shape[0]), I64(cuda.gridDim.x)):
        for f in range(I64(cuda.threadIdx.x), I64(own_factors.shape[1]), I64(cuda.blockDim.x)):
            own_factors[U64(row), U64(f)] = factors[U64(row), U64(f)]
        for e in range(I64(cuda.threadIdx.x), I64(own_extras.shape[1]), I64(cuda.blockDim.x)):
            own_extras[U64(row), U64(e)] = extras[U64(row), U64(position + e)]


@kernel
def pack_pairs(users, items, keys):
    """keys[t] = user << 32 | item of pair t.

    users, items (n,) int32, not negative; keys (n,) uint64, overwritten.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    for t in range(I64(cuda.grid(1)), I64(users.size), I64(cuda.gridsize(1))):
        keys[U64(t)] = U64(U64(U64(users[U64(t)]) << U64(32)) | U64(items[U64(t)]))


@kernel
def items_of(keys, items):
    """items[t] = the lower half of keys[t].

    keys (n,) uint64; items (n,) int32, overwritten.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    for t in range(I64(cuda.grid(1)), I64(keys.size), I64(cuda.gridsize(1))):
        items[U64(t)] = np.int32(keys[U64(t)] & U64(0x7FFFFFFF))


@kernel
def error_sums(predicted, truth, deviation, mean, low, high, sums):
    """sums[b] = sums of squared and of absolute errors of block b, in the ratings' units.

    predicted (n,) float32, in z; truth (n,) float32; deviation, mean, low, high float32: the arrays.Scale; sums
    (blocks, 2) float64, overwritten.
    Launch: one block for each line of sums, of a multiple of 32 threads, at most 256.
    Deterministic: yes, for one grid and block; budget.
    Source: ours.
    """
    parts = cuda.shared.array(WARPS, np.float64)
    squares, sizes = np.float64(0.0), np.float64(0.0)
    for t in range(I64(cuda.grid(1)), I64(truth.size), I64(cuda.gridsize(1))):
        error = np.float64(in_units(predicted[U64(t)], deviation, mean, low, high)) - np.float64(truth[U64(t)])
        squares += error * error
        sizes += abs(error)
    squares, sizes = block_sum(squares, parts), block_sum(sizes, parts)
    if cuda.threadIdx.x == 0:
        sums[U32(cuda.blockIdx.x), 0] = squares
        sums[U32(cuda.blockIdx.x), 1] = sizes
