"""Steps of conjugate gradients, several rows per block, which read the matrices shared by all rows once.

All rows have the same preconditioner, about the inverse of the part that their matrices share. The part of a row's own
clicks is small compared with it, so three steps are about as close as eight without preconditioner.
"""

import numpy as np

from gpukit._cuda import cuda, device, factory, kernel
from gpukit.factorization.solvers.ials.formulas import rows_of_block
from gpukit.factorization.solvers.squares.formulas import F32, ZERO, quotient
from gpukit.primitives.warp import group_sum
from gpukit.primitives.wide import pick4

U32, U64, I64 = np.uint32, np.uint64, np.int64
WARPS = 8
THREADS = 32 * WARPS


class Tile:
    """Work distribution of a block on rows of `width` factors.

    rows: of the block; across: threads along the factors; groups of threads, each with `each` of the rows.
    """

    def __init__(self, width):
        self.width, self.rows = width, rows_of_block(width)
        self.across = min(width, THREADS)
        self.groups = min(self.rows, THREADS // self.across)
        self.each = -(-self.rows // self.groups)
        self.room = self.groups * self.each * width


@device
def _load(owners, first, rows, width, source, own):
    """own = rows of `source` for owners from `first` on, zeros after the last."""
    for index in range(U32(cuda.threadIdx.x), U32(rows * width), U32(THREADS)):
        r = U32(U32(index) // U32(width))
        f = U32(U32(index) - U32(r * U32(width)))
        o = I64(first + I64(r))
        own[U32(index)] = source[U64(owners[U64(o), 0]), f] if o < I64(owners.shape[0]) else ZERO


@device
def multiply(tile, shared, own, part, out):
    """out = S times each of the block's rows.

    own: the rows, aligned to 16 bytes; part: `each` numbers in registers.
    """
    width, across, groups, each = tile
    thread = U32(cuda.threadIdx.x)
    group = U32(thread // U32(across))
    for f in range(U32(thread % U32(across)), U32(width), U32(across)):
        if group < U32(groups):
            for r in range(each):
                part[r] = ZERO
            for first in range(U32(0), U32(width), U32(4)):
                g = U32(first)
                a, b = shared[g, U32(f)], shared[U32(g + U32(1)), U32(f)]
                c, d = shared[U32(g + U32(2)), U32(f)], shared[U32(g + U32(3)), U32(f)]
                for r in range(each):
                    w, x, y, z = pick4(own, U32(U32(U32(U32(group * U32(each)) + U32(r)) * U32(width)) + g))
                    part[r] += a * w + b * x + c * y + d * z
            for r in range(each):
                out[U32(U32(U32(group * U32(each)) + U32(r)) * U32(width) + U32(f))] = part[r]


@device
def _add_rest(owners, first, decays, sums, rows, width, own, out):
    """out += lambda times each row and the sum of its pieces."""
    for index in range(U32(cuda.threadIdx.x), U32(rows * width), U32(THREADS)):
        r = U32(U32(index) // U32(width))
        f = U32(U32(index) - U32(r * U32(width)))
        o = I64(first + I64(r))
        if o < I64(owners.shape[0]):
            piece, pieces = owners[U64(o), 1], owners[U64(o), 2]
            total = F32(out[U32(index)] + decays[U64(o)] * own[U32(index)])
            for p in range(I64(piece), I64(piece + pieces)):
                total += sums[U64(p), f]
            out[U32(index)] = total


@device
def _step(row, position, width, own, out, state, table):
    """Make a step of one row by a warp; own becomes the residual.

    own and out, from `position` on: the row's direction and the matrix times it; state: formulas.Directions.
    """
    lane = U32(cuda.laneid)
    curve = ZERO
    for f in range(lane, U32(width), U32(32)):
        curve += own[U32(position + U32(f))] * out[U32(position + U32(f))]
    left, step = state.left, quotient(state.rests[row], group_sum(curve, 32))
    for f in range(lane, U32(width), U32(32)):
        f = U32(f)
        table[row, f] += step * own[U32(position + f)]
        value = F32(left[row, f] - step * out[U32(position + f)])
        left[row, f] = value
        own[U32(position + f)] = value


@device
def _turn(row, position, width, own, out, state, begins):
    """Compute the next direction of one row by a warp.

    own and out, from `position` on: the residual and M times it; begins: there is no previous direction.
    """
    lane, ways, rests = U32(cuda.laneid), state.ways, state.rests
    rest = ZERO
    for f in range(lane, U32(width), U32(32)):
        rest += own[U32(position + U32(f))] * out[U32(position + U32(f))]
    rest = group_sum(rest, 32)
    turn = ZERO if begins else quotient(rest, rests[row])
    for f in range(lane, U32(width), U32(32)):
        f = U32(f)
        before = ZERO if begins else F32(turn * ways[row, f])
        ways[row, f] = out[U32(position + f)] + before
    cuda.syncwarp()
    if lane == U32(0):
        rests[row] = rest


@factory
def make_descent(width):
    """Return (begin_descent, descend) for rows of `width` factors, including padding."""
    tile = Tile(width)
    rows, each, room = tile.rows, tile.each, tile.room
    shape = width, tile.across, tile.groups, each

    @kernel
    def begin_descent(owners, decays, sums, shared, inverse, state, table):
        """Compute residuals left[row], first directions ways[row] = M left[row] and their products rests[row].

        left[row] = -(sums + (S + lambda I) table[row]). owners (n, 4) int64: row, first piece, pieces, clicks; decays
        (n,) float32: lambda; sums (pieces, width) float32: see products_of_pieces, with goal 1 and u = table[row];
        shared, inverse (width, width) float32: S and M, symmetric, M about the inverse of S + lambda I; state:
        formulas.Directions of as many rows or more, overwritten; table (rows + 1, stride) float32: parameter rows.

        Launch: any grid, blocks of THREADS.
        Deterministic: yes; budget.
        Source: Golub and Van Loan, Matrix Computations, 4th ed., 11.5.2.
        """
        block_table = cuda.shared.array(room, F32, alignment=16)
        out = cuda.shared.array(room, F32)
        part = cuda.local.array(each, F32)
        stride = I64(cuda.gridDim.x) * I64(rows)
        for first in range(I64(cuda.blockIdx.x) * I64(rows), I64(owners.shape[0]), stride):
            cuda.syncthreads()
            _load(owners, first, rows, width, table, block_table)
            cuda.syncthreads()
            multiply(shape, shared, block_table, part, out)
            cuda.syncthreads()
            _add_rest(owners, first, decays, sums, rows, width, block_table, out)
            cuda.syncthreads()
            for index in range(U32(cuda.threadIdx.x), U32(rows * width), U32(THREADS)):
                r = U32(U32(index) // U32(width))
                f = U32(U32(index) - U32(r * U32(width)))
                o = I64(first + I64(r))
                block_table[U32(index)] = -out[U32(index)]
                if o < I64(owners.shape[0]):
                    state.left[U64(owners[U64(o), 0]), f] = -out[U32(index)]
            cuda.syncthreads()
            multiply(shape, inverse, block_table, part, out)
            cuda.syncthreads()
            for r in range(U32(cuda.threadIdx.x // 32), U32(rows), U32(WARPS)):
                o = I64(first + I64(r))
                if o < I64(owners.shape[0]):
                    _turn(U64(owners[U64(o), 0]), U32(U32(r) * U32(width)), width, block_table, out, state, True)

    @kernel
    def descend(owners, decays, sums, shared, inverse, last, state, table):
        """Make a step of each row to the minimum along its direction, and compute the next direction.

        owners (n, 4) int64, decays (n,) float32, shared and inverse (width, width) float32: see begin_descent; sums
        (pieces, width) float32: with goal 0 and u = ways[row]; last: skip the next direction; state and the factors of
        table (rows + 1, stride) float32: updated.

        Launch: any grid, blocks of THREADS.
        Deterministic: yes; budget.
        Source: Golub and Van Loan, Matrix Computations, 4th ed., 11.5.2.
        """
        block_table = cuda.shared.array(room, F32, alignment=16)
        out = cuda.shared.array(room, F32)
        part = cuda.local.array(each, F32)
        stride = I64(cuda.gridDim.x) * I64(rows)
        for first in range(I64(cuda.blockIdx.x) * I64(rows), I64(owners.shape[0]), stride):
            cuda.syncthreads()
            _load(owners, first, rows, width, state.ways, block_table)
            cuda.syncthreads()
            multiply(shape, shared, block_table, part, out)
            cuda.syncthreads()
            _add_rest(owners, first, decays, sums, rows, width, block_table, out)
            cuda.syncthreads()
            for r in range(U32(cuda.threadIdx.x // 32), U32(rows), U32(WARPS)):
                o = I64(first + I64(r))
                if o < I64(owners.shape[0]):
                    row = U64(owners[U64(o), 0])
                    _step(row, U32(U32(r) * U32(width)), width, block_table, out, state, table)
            cuda.syncthreads()
            if not last:
                multiply(shape, inverse, block_table, part, out)
                cuda.syncthreads()
                for r in range(U32(cuda.threadIdx.x // 32), U32(rows), U32(WARPS)):
                    o = I64(first + I64(r))
                    if o < I64(owners.shape[0]):
                        row = U64(owners[U64(o), 0])
                        _turn(row, U32(U32(r) * U32(width)), width, block_table, out, state, False)

    return begin_descent, descend
