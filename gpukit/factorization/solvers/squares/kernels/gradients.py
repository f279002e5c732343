"""Normal equations solved by conjugate gradients, a block a row, for matrices that do not fit in its registers."""

import functools

import numpy as np

from gpukit._cuda import cuda, device, kernel
from gpukit.factorization.model.layout import BIAS, EXTRA
from gpukit.factorization.solvers.squares.formulas import F32, ONE, ZERO, quotient, weight_at
from gpukit.factorization.solvers.squares.plan import TILE
from gpukit.primitives.warp import group_sum

U32, U64, I64 = np.uint32, np.uint64, np.int64
WARPS = 8
THREADS = 32 * WARPS


@device
def _number_of(i, j):
    """The number of tile (i, j), j <= i."""
    return U32(U32(U32(i * U32(i + U32(1))) // U32(2)) + j)


@device
def _gather(grams, first, pieces, shared, tiles):
    """The first of a row's Gram matrices becomes the sum of all of them and of what all rows share."""
    for e in range(TILE * TILE):
        for n in range(U32(cuda.threadIdx.x), U32(tiles), U32(THREADS)):
            total = grams[first, U32(e), U32(n)]
            for piece in range(I64(1), pieces):
                total += grams[U64(first + U64(piece)), U32(e), U32(n)]
            for part in range(I64(0), I64(shared.shape[0])):
                total += shared[U64(part), U32(e), U32(n)]
            grams[first, U32(e), U32(n)] = total


@device
def _times(grams, first, tile_rows, x, part, out):
    """out = G x; part: 8 numbers of the thread's own. A warp a tile row, its lanes along the row's tiles."""
    lane, warp = U32(cuda.laneid), U32(cuda.threadIdx.x // 32)
    for row in range(warp, U32(tile_rows), U32(WARPS)):
        i = U32(row)
        for a in range(TILE):
            part[a] = ZERO
        for column in range(lane, U32(tile_rows), U32(32)):
            j = U32(column)
            below = j <= i
            n = _number_of(i, j) if below else _number_of(j, i)
            for b in range(TILE):
                own = x[U32(U32(TILE) * j + U32(b))]
                for a in range(TILE):
                    part[a] += own * grams[first, U32(TILE * a + b) if below else U32(TILE * b + a), n]
        for a in range(TILE):
            total = group_sum(part[a], 32)
            if lane == U32(a):
                out[U32(U32(TILE) * i + U32(a))] = total


@device
def _sum(value, parts):
    """The sum of value over the block, in every thread."""
    value = group_sum(value, 32)
    cuda.syncthreads()
    if cuda.laneid == 0:
        parts[cuda.threadIdx.x // 32] = value
    cuda.syncthreads()
    total = ZERO
    for warp in range(WARPS):
        total += parts[warp]
    return total


@functools.cache
def make_solve_by_gradients(quads, tile_rows, tiles):
    """solve_by_gradients for a plan.Shape."""
    bias, size, each = 4 * quads, TILE * tile_rows, TILE
    target = bias + 1
    row_of_target, own_of_target = target // TILE, TILE * (target % TILE)

    @kernel(max_registers=128)
    def solve_by_gradients(owners, grams, shared, decays, damping, steps, tolerance, table):
        """table[row] = the row's factors and bias: (G + D) x = g by conjugate gradients from what stands there.

        owners (n, 4) int64: row, first piece, pieces, ratings; grams: see gram_of_pieces, overwritten; shared (any,
        64, tiles) float32: likewise, of all rows; decays (n,), damping float32: lambda and d of formulas.py; steps
        int64: how many at most; tolerance float32: of what is left of g, in the norm of the preconditioner, the
        diagonal; table (rows + 1, stride) float32: parameter rows, their factors and biases overwritten.

        Launch: any grid, blocks of THREADS.
        Deterministic: yes; within the tolerance.
        Source: Golub and Van Loan, Matrix Computations, 4th ed., 11.5.2.
        """
        x = cuda.shared.array(size, F32)
        left = cuda.shared.array(size, F32)
        way = cuda.shared.array(size, F32)
        product = cuda.shared.array(size, F32)
        scale = cuda.shared.array(size, F32)
        weights = cuda.shared.array(size, F32)
        parts = cuda.shared.array(WARPS, F32)
        part = cuda.local.array(each, F32)
        thread, at_bias = U32(cuda.threadIdx.x), U32(U32(table.shape[1] - EXTRA) + U32(BIAS))
        for o in range(I64(cuda.blockIdx.x), I64(owners.shape[0]), I64(cuda.gridDim.x)):
            row, first = U64(owners[U64(o), 0]), U64(owners[U64(o), 1])
            cuda.syncthreads()
            _gather(grams, first, owners[U64(o), 2], shared, tiles)
            cuda.syncthreads()
            decay = decays[U64(o)]
            goal = ZERO
            for f in range(thread, U32(size), U32(THREADS)):
                f = U32(f)
                i, a = U32(f // U32(TILE)), U32(f % U32(TILE))
                wanted = f <= U32(bias)
                weights[f] = weight_at(f, U32(bias), decay, damping)
                own = grams[first, U32(U32(TILE + 1) * a), _number_of(i, i)] + weights[f]
                scale[f] = quotient(ONE, own) if wanted else ZERO
                x[f], left[f] = ZERO, ZERO
                if wanted:
                    x[f] = table[row, f if f < U32(bias) else at_bias]
                    left[f] = grams[first, U32(U32(own_of_target) + a), _number_of(U32(row_of_target), i)]
                goal += left[f] * left[f] * scale[f]
            least = F32(F32(tolerance * tolerance) * _sum(goal, parts))
            _times(grams, first, tile_rows, x, part, product)
            cuda.syncthreads()
            share = ZERO
            for f in range(thread, U32(size), U32(THREADS)):
                f = U32(f)
                if f <= U32(bias):
                    left[f] -= product[f] + weights[f] * x[f]
                way[f] = scale[f] * left[f]
                share += way[f] * left[f]
            rest = _sum(share, parts)
            for _ in range(steps):
                if rest <= least:
                    break
                _times(grams, first, tile_rows, way, part, product)
                cuda.syncthreads()
                share = ZERO
                for f in range(thread, U32(size), U32(THREADS)):
                    f = U32(f)
                    product[f] += weights[f] * way[f]
                    share += way[f] * product[f]
                step = quotient(rest, _sum(share, parts))
                share = ZERO
                for f in range(thread, U32(size), U32(THREADS)):
                    f = U32(f)
                    x[f] += step * way[f]
                    left[f] = left[f] - step * product[f] if f <= U32(bias) else ZERO
                    share += left[f] * left[f] * scale[f]
                before, rest = rest, _sum(share, parts)
                turn = quotient(rest, before)
                for f in range(thread, U32(size), U32(THREADS)):
                    f = U32(f)
                    way[f] = scale[f] * left[f] + turn * way[f]
                cuda.syncthreads()
            for f in range(thread, U32(bias), U32(THREADS)):
                table[row, U32(f)] = x[U32(f)]
            if thread == U32(0):
                table[row, at_bias] = x[bias]

    return solve_by_gradients
