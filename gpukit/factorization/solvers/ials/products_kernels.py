"""Contributions of a row's clicks to its gradient, in pieces."""

import numpy as np

from gpukit._cuda import cuda, device, factory, kernel
from gpukit.factorization.solvers.squares.formulas import F32, ZERO
from gpukit.primitives.rows import partial_dot
from gpukit.primitives.warp import FULL, group_sum
from gpukit.primitives.wide import read4

U32, U64, I64 = np.uint32, np.uint64, np.int64
WARPS = 4
THREADS = 32 * WARPS


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
    groups, width = THREADS // lanes, lanes * count
    room = WARPS * width

    @kernel
    def products_of_pieces(pieces, minor, weights, goal, ways, table, sums):
        """sums[p] = sum w (u v - goal) v over the clicks of piece p, with u its row of `ways`.

        pieces (n, 3) int64: row, first click, clicks; minor (nnz,) int32; weights w (nnz,) float32, or (1,) for all;
        goal float32; ways (rows or more, width or more) float32: u; table (rows + 1, stride) float32: the other side's
        v; sums (n, width) float32, overwritten.

        Launch: any grid, blocks of THREADS.
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
            for f in range(thread, U32(width), U32(THREADS)):
                value = ZERO
                for part in range(WARPS):
                    value += stage[U32(U32(part * width) + U32(f))]
                sums[U64(piece), U32(f)] = value

    return products_of_pieces
