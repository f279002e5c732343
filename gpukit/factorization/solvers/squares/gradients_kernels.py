"""Solution of normal equations by conjugate gradients, one block per row, for matrices larger than its registers."""

from typing import NamedTuple

import numpy as np

from gpukit._cuda import cuda, device, factory, kernel
from gpukit.factorization.model.layout import BIAS, EXTRA
from gpukit.factorization.solvers.squares.formulas import F32, ONE, ZERO, quotient, weight_at
from gpukit.factorization.solvers.squares.plan import TILE
from gpukit.factorization.solvers.squares.tiles import tile_number
from gpukit.primitives.warp import group_sum

U32, U64, I64 = np.uint32, np.uint64, np.int64
WARPS = 8
THREADS = 32 * WARPS


class Sizes(NamedTuple):
    """Positions in a row's matrix.

    bias: number of the bias, after the factors; target_row, target_own: tile row of the right-hand side and the
    position in it; tile_rows: rows of tiles; size: numbers of a vector.
    """

    bias: int
    target_row: int
    target_own: int
    tile_rows: int
    size: int


class Vectors(NamedTuple):
    """Vectors in shared memory, one number per factor.

    x; left: residual; way: direction; product: (G + D) times it; scale: inverse diagonal; weights: diagonal of D;
    parts: sums of warps; part: numbers in registers.
    """

    x: np.ndarray
    left: np.ndarray
    way: np.ndarray
    product: np.ndarray
    scale: np.ndarray
    weights: np.ndarray
    parts: np.ndarray
    part: np.ndarray


@device
def _gather(grams, first, pieces, shared, tiles):
    """Replace a row's first Gram matrix by the sum of all of its own and the shared ones."""
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
    """out = G x, with a warp for each tile row and its lanes along the row's tiles; part: 8 numbers in registers."""
    lane, warp = U32(cuda.laneid), U32(cuda.threadIdx.x // 32)
    for row in range(warp, U32(tile_rows), U32(WARPS)):
        i = U32(row)
        for a in range(TILE):
            part[a] = ZERO
        for column in range(lane, U32(tile_rows), U32(32)):
            j = U32(column)
            below = j <= i
            n = tile_number(i, j, tile_rows) if below else tile_number(j, i, tile_rows)
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
    """Return the sum of value over the block, in every thread."""
    value = group_sum(value, 32)
    cuda.syncthreads()
    if cuda.laneid == 0:
        parts[cuda.threadIdx.x // 32] = value
    cuda.syncthreads()
    total = ZERO
    for warp in range(WARPS):
        total += parts[warp]
    return total


@device
def _begin(grams, first, sizes, table, row, at_bias, decay, damping, v):
    """Set x from the table, left = g, and both diagonals; return the square of g in the norm of the preconditioner."""
    goal = ZERO
    for f in range(U32(cuda.threadIdx.x), U32(sizes.size), U32(THREADS)):
        f = U32(f)
        i, a = U32(f // U32(TILE)), U32(f % U32(TILE))
        wanted = f <= U32(sizes.bias)
        v.weights[f] = weight_at(f, U32(sizes.bias), decay, damping)
        own = grams[first, U32(U32(TILE + 1) * a), tile_number(i, i, sizes.tile_rows)] + v.weights[f]
        v.scale[f] = quotient(ONE, own) if wanted else ZERO
        v.x[f], v.left[f] = ZERO, ZERO
        if wanted:
            v.x[f] = table[row, f if f < U32(sizes.bias) else at_bias]
            v.left[f] = grams[
                first, U32(U32(sizes.target_own) + a), tile_number(U32(sizes.target_row), i, sizes.tile_rows)
            ]
        goal += v.left[f] * v.left[f] * v.scale[f]
    return _sum(goal, v.parts)


@device
def _first_way(grams, first, sizes, v):
    """Set left = g - (G + D) x and the first direction; return the square of left."""
    _times(grams, first, sizes.tile_rows, v.x, v.part, v.product)
    cuda.syncthreads()
    share = ZERO
    for f in range(U32(cuda.threadIdx.x), U32(sizes.size), U32(THREADS)):
        f = U32(f)
        if f <= U32(sizes.bias):
            v.left[f] -= v.product[f] + v.weights[f] * v.x[f]
        v.way[f] = v.scale[f] * v.left[f]
        share += v.way[f] * v.left[f]
    return _sum(share, v.parts)


@device
def _length_of(sizes, rest, v):
    """Return the step length: the square of left over that of the direction in the norm of G + D."""
    share = ZERO
    for f in range(U32(cuda.threadIdx.x), U32(sizes.size), U32(THREADS)):
        f = U32(f)
        v.product[f] += v.weights[f] * v.way[f]
        share += v.way[f] * v.product[f]
    return quotient(rest, _sum(share, v.parts))


@device
def _go(sizes, step, v):
    """Make a step; return the square of left."""
    share = ZERO
    for f in range(U32(cuda.threadIdx.x), U32(sizes.size), U32(THREADS)):
        f = U32(f)
        v.x[f] += step * v.way[f]
        v.left[f] = v.left[f] - step * v.product[f] if f <= U32(sizes.bias) else ZERO
        share += v.left[f] * v.left[f] * v.scale[f]
    return _sum(share, v.parts)


@device
def _turn(sizes, turn, v):
    """Compute the next conjugate direction."""
    for f in range(U32(cuda.threadIdx.x), U32(sizes.size), U32(THREADS)):
        f = U32(f)
        v.way[f] = v.scale[f] * v.left[f] + turn * v.way[f]


@device
def _store(sizes, table, row, at_bias, x):
    """Store x as the row's factors and bias."""
    for f in range(U32(cuda.threadIdx.x), U32(sizes.bias), U32(THREADS)):
        table[row, U32(f)] = x[U32(f)]
    if U32(cuda.threadIdx.x) == U32(0):
        table[row, at_bias] = x[sizes.bias]


@factory
def make_solve_by_gradients(quads, tile_rows, tiles):
    """Return solve_by_gradients for a plan.Shape."""
    bias, size, each = 4 * quads, TILE * tile_rows, TILE
    target = bias + 1

    @kernel(max_registers=128)
    def solve_by_gradients(owners, grams, shared, decays, damping, steps, tolerance, table):
        """table[row] = factors and bias x of (G + D) x = g, by conjugate gradients from the current values.

        owners (n, 4) int64: row, first piece, pieces, ratings; grams: see gram_of_pieces, overwritten; shared (any,
        64, tiles) float32: likewise, of all rows; decays (n,), damping float32: lambda and d of formulas.py; steps
        int64: at most; tolerance float32: of the residual relative to g, in the norm of the preconditioner, which is
        the diagonal; table (rows + 1, stride) float32: parameter rows, their factors and biases overwritten.

        Launch: any grid, blocks of THREADS.
        Deterministic: yes; within the tolerance.
        Source: Golub and Van Loan, Matrix Computations, 4th ed., 11.5.2.
        """
        v = Vectors(
            cuda.shared.array(size, F32),
            cuda.shared.array(size, F32),
            cuda.shared.array(size, F32),
            cuda.shared.array(size, F32),
            cuda.shared.array(size, F32),
            cuda.shared.array(size, F32),
            cuda.shared.array(WARPS, F32),
            cuda.local.array(each, F32),
        )
        sizes = Sizes(bias, target // TILE, TILE * (target % TILE), tile_rows, size)
        at_bias = U32(U32(table.shape[1] - EXTRA) + U32(BIAS))
        for o in range(I64(cuda.blockIdx.x), I64(owners.shape[0]), I64(cuda.gridDim.x)):
            row, first = U64(owners[U64(o), 0]), U64(owners[U64(o), 1])
            cuda.syncthreads()
            _gather(grams, first, owners[U64(o), 2], shared, tiles)
            cuda.syncthreads()
            goal = _begin(grams, first, sizes, table, row, at_bias, decays[U64(o)], damping, v)
            least, rest = F32(F32(tolerance * tolerance) * goal), _first_way(grams, first, sizes, v)
            for _ in range(steps):
                if rest <= least:
                    break
                _times(grams, first, tile_rows, v.way, v.part, v.product)
                cuda.syncthreads()
                step = _length_of(sizes, rest, v)
                before, rest = rest, _go(sizes, step, v)
                _turn(sizes, quotient(rest, before), v)
                cuda.syncthreads()
            _store(sizes, table, row, at_bias, v.x)

    return solve_by_gradients
