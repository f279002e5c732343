"""Rows of few clicks, solved exactly in one unknown per click (formulas.py)."""

import math

import numpy as np

from gpukit._cuda import cuda, device, factory, kernel
from gpukit.factorization.solvers.ials.descent_kernels import THREADS, Tile, multiply
from gpukit.factorization.solvers.ials.formulas import STAGED
from gpukit.factorization.solvers.squares.formulas import F32, ONE, ZERO
from gpukit.factorization.solvers.squares.plan import TILE
from gpukit.factorization.solvers.squares.tiles import SQUARE, add_products, place_of, tile_at
from gpukit.primitives.wide import read4

U32, U64, I64 = np.uint32, np.uint64, np.int64


@device
def _stage(first, count, begin, decay, batch, shape, stage):
    """Load STAGED factors of a row's clicks from `begin` on, divided by the roots of D, one factor per line."""
    minor, spectrum, table = batch
    slots, tile_rows, pitch = shape
    for at in range(U32(cuda.threadIdx.x), U32(slots * (STAGED // 4)), U32(cuda.blockDim.x)):
        click = U32(U32(at) // U32(STAGED // 4))
        line = U32(U32(4) * U32(U32(at) % U32(STAGED // 4)))
        f = U32(begin + line)
        there = click < count and f < U32(spectrum.size)
        at_place = U32(U32(line * U32(pitch)) + place_of(click, tile_rows))
        quad = read4(table, U32(minor[U64(first + U64(click))]), f) if there else (ZERO, ZERO, ZERO, ZERO)
        for e in range(4):
            value = ZERO
            if there:
                value = F32(quad[e] / F32(math.sqrt(F32(spectrum[U32(f + U32(e))] + decay))))
            stage[U32(at_place + U32(e * pitch))] = value


@device
def _finish(i, j, first, count, weights, target, tile):
    """Add W^-1 on the diagonal of a tile; the row of the right-hand side is 1 for each click."""
    if i == j:
        for a in range(TILE):
            click = U32(U32(TILE) * i + U32(a))
            if click < count:
                tile[(TILE + 1) * a] += F32(ONE / weights[min(U64(first + U64(click)), U64(weights.size - 1))])
    if i == U32(target // TILE):
        for b in range(TILE):
            tile[TILE * (target % TILE) + b] = ONE if U32(U32(TILE) * j + U32(b)) < count else ZERO


@factory
def make_grams_of_few(quads, tile_rows, tiles, threads):
    """Return grams_of_few for a squares.plan.Shape of up to 4 quads clicks; threads: its `whole`."""
    slots, pitch = TILE * tile_rows, TILE * tile_rows + 4
    room, target, square = STAGED * pitch, 4 * quads + 1, SQUARE

    @kernel(max_registers=112)
    def grams_of_few(lines, minor, weights, decays, spectrum, table, grams):
        """grams[o] = V D^-1 V' + W^-1 over the clicks of line o, with ones as right-hand side.

        D = diag(spectrum) + lambda I. lines (n, 3) int64: row, first click, clicks, 4 quads at most; minor (nnz,)
        int32; weights W (nnz,) float32, or (1,) for all; decays (n,) float32: lambda; spectrum (width,) float32; table
        (rows or more, width) float32: V, in the basis in which the shared matrix is diag(spectrum); grams (n or more,
        64, tiles) float32, overwritten: see squares.kernels.gram.

        Launch: any grid, blocks of `threads`.
        Deterministic: yes; budget.
        Source: Golub and Van Loan, Matrix Computations, 4th ed., 2.1.4 (Sherman-Morrison-Woodbury).
        """
        stage = cuda.shared.array(room, F32, alignment=16)
        tile = cuda.local.array(square, F32)
        batch, shape = (minor, spectrum, table), (slots, tile_rows, pitch)
        number = U32(cuda.threadIdx.x)
        i, j = tile_at(U32(min(number, U32(tiles - 1))), tile_rows)
        for o in range(I64(cuda.blockIdx.x), I64(lines.shape[0]), I64(cuda.gridDim.x)):
            first, count = U64(lines[U64(o), 1]), U32(lines[U64(o), 2])
            for e in range(square):
                tile[e] = ZERO
            for begin in range(U32(0), U32(spectrum.size), U32(STAGED)):
                cuda.syncthreads()
                _stage(first, count, U32(begin), decays[U64(o)], batch, shape, stage)
                cuda.syncthreads()
                if U32(U32(TILE) * i) < count:
                    for t in range(STAGED):
                        add_products(stage, U32(t * pitch), i, j, tile_rows, ONE, tile)
            _finish(i, j, first, count, weights, target, tile)
            if number < U32(tiles):
                for e in range(square):
                    grams[U64(o), U32(e), number] = tile[e]

    return grams_of_few


@device
def _combine(line, minor, decay, spectrum, found, table, at, own):
    """own, from `at` on, = D^-1 V' times the solution of a line's clicks."""
    first, count = U64(line[1]), U32(line[2])
    for f in range(U32(cuda.threadIdx.x), U32(spectrum.size), U32(THREADS)):
        total = ZERO
        for t in range(U32(0), count):
            total += found[U32(t)] * table[U64(minor[U64(first + U64(t))]), U32(f)]
        own[U32(at + U32(f))] = F32(total / F32(spectrum[U32(f)] + decay))


@factory
def make_turns(width):
    """Return (turn_rows, rows_of_few) for rows of `width` factors, including padding."""
    tile = Tile(width)
    rows, each, room = tile.rows, tile.each, tile.room
    shape = width, tile.across, tile.groups, each

    @kernel
    def turn_rows(table, basis, out):
        """out[row] = table[row] basis, all rows in another basis.

        table (rows or more, width or more), basis (width, width), out (rows, width) float32, out overwritten.

        Launch: any grid, blocks of THREADS.
        Deterministic: yes; budget.
        Source: ours.
        """
        own = cuda.shared.array(room, F32, alignment=16)
        turned = cuda.shared.array(room, F32)
        part = cuda.local.array(each, F32)
        stride = I64(cuda.gridDim.x) * I64(rows)
        for first in range(I64(cuda.blockIdx.x) * I64(rows), I64(out.shape[0]), stride):
            cuda.syncthreads()
            for at in range(U32(cuda.threadIdx.x), U32(rows * width), U32(THREADS)):
                r = U32(U32(at) // U32(width))
                row = I64(first + I64(r))
                f = U32(U32(at) - U32(r * U32(width)))
                own[U32(at)] = table[U64(row), f] if row < I64(out.shape[0]) else ZERO
            cuda.syncthreads()
            multiply(shape, basis, own, part, turned)
            cuda.syncthreads()
            for at in range(U32(cuda.threadIdx.x), U32(rows * width), U32(THREADS)):
                r = U32(U32(at) // U32(width))
                row = I64(first + I64(r))
                if row < I64(out.shape[0]):
                    out[U64(row), U32(U32(at) - U32(r * U32(width)))] = turned[U32(at)]

    @kernel
    def rows_of_few(lines, minor, decays, spectrum, found, table, back, own):
        """own[row] = (D^-1 V' z) back, a line's row from the solution z for its clicks.

        lines (n, 3) int64, minor (nnz,) int32, decays (n,), spectrum (width,), table (rows or more, width) float32: see
        grams_of_few; found (n or more, clicks or more) float32: z; back (width, width) float32: from the table's basis
        to the original one; own (rows + 1, stride) float32: parameter rows, their factors overwritten.

        Launch: any grid, blocks of THREADS.
        Deterministic: yes; budget.
        Source: Golub and Van Loan, Matrix Computations, 4th ed., 2.1.4 (Sherman-Morrison-Woodbury).
        """
        there = cuda.shared.array(room, F32, alignment=16)
        turned = cuda.shared.array(room, F32)
        part = cuda.local.array(each, F32)
        stride = I64(cuda.gridDim.x) * I64(rows)
        for first in range(I64(cuda.blockIdx.x) * I64(rows), I64(lines.shape[0]), stride):
            cuda.syncthreads()
            for r in range(U32(rows)):
                o = U64(min(I64(first + I64(r)), I64(lines.shape[0] - 1)))
                at = U32(U32(r) * U32(width))
                _combine(lines[o], minor, decays[o], spectrum, found[o], table, at, there)
            cuda.syncthreads()
            multiply(shape, back, there, part, turned)
            cuda.syncthreads()
            for at in range(U32(cuda.threadIdx.x), U32(rows * width), U32(THREADS)):
                r = U32(U32(at) // U32(width))
                o = I64(first + I64(r))
                if o < I64(lines.shape[0]):
                    own[U64(lines[U64(o), 0]), U32(U32(at) - U32(r * U32(width)))] = turned[U32(at)]

    return turn_rows, rows_of_few
