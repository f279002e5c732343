"""Kernels of conjugate gradients over the clicks of many rows.

Contributions of a row's clicks to its gradient, in pieces. Steps of several rows per block, which read the matrices
shared by all rows once. The inverse of that matrix, their preconditioner, without host transfers.

All rows have the same preconditioner, about the inverse of the part that their matrices share. The part of a row's own
clicks is small compared with it, so three steps are about as close as eight without preconditioner.
"""

import numpy as np

from gpukit._cuda import cuda, device, factory, kernel
from gpukit.factorization.solvers.ials import PANEL, rows_of_block
from gpukit.factorization.solvers.squares_formulas import F32, ZERO, invert_pivot, quotient
from gpukit.primitives.rows import partial_dot
from gpukit.primitives.warp import FULL, group_sum
from gpukit.primitives.wide import pick4, read4

U32, U64, I64, F64 = np.uint32, np.uint64, np.int64, np.float64
PRODUCT_WARPS = 4
PRODUCT_THREADS = 32 * PRODUCT_WARPS


@device
def read_row(table, row, lane, lanes, count, out):
    """out = the lane's numbers of a row that is not written concurrently."""
    for i in range(count // 4):
        a, b, c, d = read4(table, row, U32(U32(4) * U32(lane + U32(i * lanes))))
        out[4 * i], out[4 * i + 1], out[4 * i + 2], out[4 * i + 3] = a, b, c, d


@device
def _coefficient(weights, t, inside, dot, goal):
    """Return w (u v - goal) of click t; 0 outside the piece."""
    return F32(weights[min(t, U64(weights.size - 1))] * F32(dot - goal)) if inside else ZERO


@factory
def make_products_of_pieces(lanes, count):
    """Return products_of_pieces for rows of lanes x count factors (layout.Layout), with a group of lanes for each
    click."""
    groups, width = PRODUCT_THREADS // lanes, lanes * count
    room = PRODUCT_WARPS * width

    @kernel
    def products_of_pieces(pieces, minor, weights, goal, ways, table, sums):
        """sums[p] = sum w (u v - goal) v over the clicks of piece p, with u its row of `ways`.

        pieces (n, 3) int64: row, first click, clicks; minor (nnz,) int32; weights w (nnz,) float32, or (1,) for all;
        goal float32; ways (rows or more, width or more) float32: u; table (rows + 1, stride) float32: the other side's
        v; sums (n, width) float32, overwritten.

        Launch: any grid, blocks of PRODUCT_THREADS.
        Deterministic: yes; budget.
        Source: Takacs, Pilaszy and Tikk, RecSys 2011 (a row's matrix is never formed).
        """
        stage = cuda.shared.array(room, F32)
        way, total = cuda.local.array(count, F32), cuda.local.array(count, F32)
        one, two = cuda.local.array(count, F32), cuda.local.array(count, F32)
        thread = U32(cuda.threadIdx.x)
        lane, group, warp = U32(thread % U32(lanes)), U32(thread // U32(lanes)), U32(thread // U32(32))
        for piece in range(I64(cuda.blockIdx.x), I64(pieces.shape[0]), I64(cuda.gridDim.x)):
            row, first = U32(pieces[U64(piece), 0]), U64(pieces[U64(piece), 1])
            length = U32(pieces[U64(piece), 2])
            read_row(ways, row, lane, lanes, count, way)
            for e in range(count):
                total[e] = ZERO
            for begin in range(U32(0), length, U32(2 * groups)):
                t = U32(U32(begin) + group)
                s = U32(t + U32(groups))
                target, further = (
                    U64(first + U64(min(t, U32(length - U32(1))))),
                    U64(first + U64(min(s, U32(length - U32(1))))),
                )
                read_row(table, U32(minor[target]), lane, lanes, count, one)
                read_row(table, U32(minor[further]), lane, lanes, count, two)
                dot = group_sum(partial_dot(way, one, count), lanes)
                other = group_sum(partial_dot(way, two, count), lanes)
                dot = _coefficient(weights, target, t < length, dot, goal)
                other = _coefficient(weights, further, s < length, other, goal)
                for e in range(count):
                    total[e] += dot * one[e] + other * two[e]
            reach = lanes
            while reach < 32:
                for e in range(count):
                    total[e] += cuda.shfl_xor_sync(FULL, total[e], reach)
                reach *= 2
            cuda.syncthreads()
            if U32(thread % U32(32)) < U32(lanes):
                for e in range(count):
                    f = U32(U32(U32(4) * U32(lane + U32((e // 4) * lanes))) + U32(e % 4))
                    stage[U32(U32(warp * U32(width)) + f)] = total[e]
            cuda.syncthreads()
            for f in range(thread, U32(width), U32(PRODUCT_THREADS)):
                value = ZERO
                for part in range(PRODUCT_WARPS):
                    value += stage[U32(U32(part * width) + U32(f))]
                sums[U64(piece), U32(f)] = value

    return products_of_pieces


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


SIDE = PANEL + 1  # pitch of a square in shared memory; its columns begin in different banks
ROOM = PANEL * SIDE
OWN = PANEL * PANEL // THREADS  # numbers of a square per thread


@device
def _number(shared, decay, source, first, row, column):
    """Return a number of the matrix before a step: of S + decay I if first, else of `source`; of I outside."""
    if row >= U32(shared.shape[0]) or column >= U32(shared.shape[0]):
        return F64(1.0) if row == column else F64(0.0)
    if not first:
        return source[row, column]
    return F64(shared[row, column]) + (decay if row == column else F64(0.0))


@device
def _take(matrix, first, rows, columns, square):
    """square = PANEL x PANEL numbers of the matrix from (rows, columns) on."""
    shared, decay, source = matrix
    for index in range(U32(cuda.threadIdx.x), U32(PANEL * PANEL), U32(THREADS)):
        a, b = U32(U32(index) // U32(PANEL)), U32(U32(index) % U32(PANEL))
        number = _number(shared, decay, source, first, U32(rows + a), U32(columns + b))
        square[U32(U32(a * U32(SIDE)) + b)] = number


@device
def _invert(shared, decay, begin, part, square):
    """Invert a square in place, with 0 for unknowns whose pivot is rounding; part: OWN numbers in registers."""
    for c in range(U32(PANEL)):
        c = U32(c)
        whole = F64(1.0)
        if U32(begin + c) < U32(shared.shape[0]):
            whole = F64(shared[U32(begin + c), U32(begin + c)]) + decay
        over = invert_pivot(square[U32(c * U32(SIDE + 1))], whole)
        for e in range(OWN):
            position = U32(U32(cuda.threadIdx.x) + U32(e * THREADS))
            a, b = U32(position // U32(PANEL)), U32(position % U32(PANEL))
            left, above = square[U32(U32(a * U32(SIDE)) + c)], square[U32(U32(c * U32(SIDE)) + b)]
            entry = F64(0.0) if b == c else square[U32(U32(a * U32(SIDE)) + b)]
            turned = over if b == c else F64(over * above)
            part[e] = turned if a == c else F64(entry - left * turned)
        cuda.syncthreads()
        for e in range(OWN):
            position = U32(U32(cuda.threadIdx.x) + U32(e * THREADS))
            square[U32(U32(U32(position // U32(PANEL)) * U32(SIDE)) + U32(position % U32(PANEL)))] = part[e]
        cuda.syncthreads()


@device
def _product(left, right, a, b):
    """Return number (a, b) of the product of two squares."""
    total = F64(0.0)
    for c in range(U32(PANEL)):
        total += left[U32(U32(a * U32(SIDE)) + U32(c))] * right[U32(U32(U32(c) * U32(SIDE)) + b)]
    return total


@kernel
def invert_panel(shared, decay, step, source, out, inverse):
    """Make a step of Gauss-Jordan elimination in place; after all steps the result is the inverse M of S + decay I.

    With k the PANEL unknowns of the step and A the matrix before it:
    A_kk = inv(A_kk), A_kj = A_kk A_kj, A_ij = A_ij - A_ik A_kj, A_ik = -A_ik A_kk. A positive definite matrix needs no
    pivots; unknowns whose pivot is rounding have rows and columns of zeros.

    shared (n, n) float32: S; decay float64; step int64: from 0 on; source (n, n) float64: A, output of the previous
    step (not read in the first one); out (n, n) float64 and inverse (n, n) float32, overwritten: A after the step.

    Launch: a grid of ceil(n / PANEL) squared, blocks of THREADS.
    Deterministic: yes; budget.
    Source: Golub and Van Loan, Matrix Computations, 4th ed., 3.2 and 4.2 (by blocks; no pivots).
    """
    pivot = cuda.shared.array(ROOM, F64)
    left = cuda.shared.array(ROOM, F64)
    right = cuda.shared.array(ROOM, F64)
    part = cuda.local.array(OWN, F64)
    i, j, k = U32(cuda.blockIdx.y), U32(cuda.blockIdx.x), U32(step)
    rows, columns, begin = U32(i * U32(PANEL)), U32(j * U32(PANEL)), U32(k * U32(PANEL))
    matrix = shared, decay, source
    first = k == U32(0)
    _take(matrix, first, begin, begin, pivot)
    _take(matrix, first, rows, begin, left)
    _take(matrix, first, begin, columns, right)
    cuda.syncthreads()
    _invert(shared, decay, begin, part, pivot)
    for e in range(OWN):
        position = U32(U32(cuda.threadIdx.x) + U32(e * THREADS))
        a, b = U32(position // U32(PANEL)), U32(position % U32(PANEL))
        place = U32(U32(a * U32(SIDE)) + b)
        part[e] = pivot[place] if i == k else -_product(left, pivot, a, b)
    cuda.syncthreads()
    for e in range(OWN):
        position = U32(U32(cuda.threadIdx.x) + U32(e * THREADS))
        left[U32(U32(U32(position // U32(PANEL)) * U32(SIDE)) + U32(position % U32(PANEL)))] = part[e]
    cuda.syncthreads()
    for e in range(OWN):
        position = U32(U32(cuda.threadIdx.x) + U32(e * THREADS))
        a, b = U32(position // U32(PANEL)), U32(position % U32(PANEL))
        row, column = U32(rows + a), U32(columns + b)
        value = left[U32(U32(a * U32(SIDE)) + b)]
        if j != k:
            before = F64(0.0) if i == k else _number(shared, decay, source, first, row, column)
            value = F64(before + _product(left, right, a, b))
        if row < U32(shared.shape[0]) and column < U32(shared.shape[0]):
            out[row, column] = value
            inverse[row, column] = F32(value)
