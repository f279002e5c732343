"""Blocks of coordinates: errors of clicks, and the equations of a block of factors with all others fixed."""

import numpy as np

from gpukit._cuda import cuda, device, factory, kernel
from gpukit.factorization.model.layout import EXTRA
from gpukit.factorization.solvers.ials.descent_kernels import THREADS
from gpukit.factorization.solvers.ials.formulas import rows_of_block
from gpukit.factorization.solvers.ials.products_kernels import THREADS as OF_PIECE
from gpukit.factorization.solvers.ials.products_kernels import read_row
from gpukit.factorization.solvers.squares.formulas import F32, ONE, ZERO
from gpukit.factorization.solvers.squares.plan import TILE
from gpukit.factorization.solvers.squares.tiles import tile_number
from gpukit.primitives.rows import partial_dot
from gpukit.primitives.warp import group_sum
from gpukit.primitives.wide import pick4

U32, U64, I64 = np.uint32, np.uint64, np.int64


@factory
def make_errors_of_pieces(lanes, count):
    """Return errors_of_pieces for rows of lanes x count factors, with a group of lanes for each click."""
    groups = OF_PIECE // lanes

    @kernel
    def errors_of_pieces(pieces, minor, begins, ways, table, errors):
        """errors[t] = (1 if begins else errors[t]) - u v, the errors of the clicks of the pieces.

        pieces (n, 3) int64: row, first click, clicks; minor (nnz,) int32; begins: bool; ways (rows or more, width or
        more) float32: u; table (rows or more, width or more) float32: v; errors (nnz,) float32, overwritten.

        Launch: any grid, blocks of OF_PIECE.
        Deterministic: yes; budget.
        Source: Rendle et al., iALS++ (arXiv:2110.14044), sec. 4 (predictions are stored and updated by each block).
        """
        way, one = cuda.local.array(count, F32), cuda.local.array(count, F32)
        thread = U32(cuda.threadIdx.x)
        lane, group = U32(thread % U32(lanes)), U32(thread // U32(lanes))
        for piece in range(I64(cuda.blockIdx.x), I64(pieces.shape[0]), I64(cuda.gridDim.x)):
            row, first = U32(pieces[U64(piece), 0]), U64(pieces[U64(piece), 1])
            length = U32(pieces[U64(piece), 2])
            read_row(ways, row, lane, lanes, count, way)
            for begin in range(U32(0), length, U32(groups)):
                t = U32(U32(begin) + group)
                there = U64(first + U64(min(t, U32(length - U32(1)))))
                read_row(table, U32(minor[there]), lane, lanes, count, one)
                dot = group_sum(partial_dot(way, one, count), lanes)
                if t < length and lane == U32(0):
                    errors[there] = F32((ONE if begins else errors[there]) - dot)

    return errors_of_pieces


@kernel
def take_columns(table, first, width, out):
    """out = factors of all rows from `first` on, with zeros after the last factor.

    table (rows or more, width or more) float32; first int64; width int64: number of factors; out (rows, size + EXTRA)
    float32, overwritten.

    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    across, size = U32(out.shape[1]), U32(out.shape[1] - EXTRA)
    for at in range(U64(cuda.grid(1)), U64(out.size), U64(cuda.gridsize(1))):
        row, f = U64(U64(at) // U64(across)), U32(U64(at) % U64(across))
        column = U32(U32(first) + f)
        out[row, f] = table[row, column] if f < size and column < U32(width) else ZERO


@kernel
def add_columns(owners, found, first, width, table):
    """table[row, first:] += found[row] for the rows of owners: the solution for a block of factors.

    owners (n, 4) int64: row, first piece, pieces, clicks; found (rows or more, size + EXTRA) float32; first int64;
    width int64: number of factors; table (rows + 1, stride) float32: parameter rows.

    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    size = U64(found.shape[1] - EXTRA)
    for at in range(U64(cuda.grid(1)), U64(U64(owners.shape[0]) * size), U64(cuda.gridsize(1))):
        row, f = U64(owners[U64(U64(at) // size), 0]), U32(U64(at) % size)
        column = U32(U32(first) + f)
        if column < U32(width):
            table[row, column] += found[row, f]


@device
def _load(owners, first, rows, width, table, own):
    """own = rows of the table for owners from `first` on; the last one is repeated."""
    for at in range(U32(cuda.threadIdx.x), U32(rows * width), U32(THREADS)):
        r = U32(U32(at) // U32(width))
        o = U64(min(I64(first + I64(r)), I64(owners.shape[0] - 1)))
        own[U32(at)] = table[U64(owners[o, 0]), U32(U32(at) - U32(r * U32(width)))]


@factory
def make_targets_of_block(width, size, quads, tile_rows):
    """Return targets_of_block for `size` of `width` factors; quads, tile_rows: see squares.plan.Shape of `size`."""
    rows, across = rows_of_block(width), min(size, THREADS)
    groups = min(rows, THREADS // across)
    each, target = -(-rows // groups), 4 * quads + 1
    room = groups * each * width
    row_of_tiles, row_of_tile = target // TILE, target % TILE

    @kernel
    def targets_of_block(owners, decays, shared, first, table, grams):
        """Subtract the block's part of (S + lambda I) u from the right-hand side in a row's first Gram matrix.

        owners (n, 4) int64: row, first piece, pieces, clicks; decays (n,) float32: lambda; shared (width, width)
        float32: S; first int64: first factor of the block; table (rows + 1, stride) float32: u; grams (pieces or more,
        64, tiles) float32: see squares.kernels.gram.

        Launch: any grid, blocks of THREADS.
        Deterministic: yes; budget.
        Source: Rendle et al., iALS++ (arXiv:2110.14044), sec. 4 (the gradient of a block).
        """
        own = cuda.shared.array(room, F32, alignment=16)
        part = cuda.local.array(each, F32)
        thread = U32(cuda.threadIdx.x)
        group = U32(thread // U32(across))
        stride = I64(cuda.gridDim.x) * I64(rows)
        for begin in range(I64(cuda.blockIdx.x) * I64(rows), I64(owners.shape[0]), stride):
            cuda.syncthreads()
            _load(owners, begin, rows, width, table, own)
            cuda.syncthreads()
            for line in range(U32(thread % U32(across)), U32(size), U32(across)):
                f = U32(U32(first) + U32(line))
                if group < U32(groups) and f < U32(width):
                    for r in range(each):
                        part[r] = ZERO
                    for start in range(U32(0), U32(width), U32(4)):
                        g = U32(start)
                        a, b = shared[g, f], shared[U32(g + U32(1)), f]
                        c, d = shared[U32(g + U32(2)), f], shared[U32(g + U32(3)), f]
                        for r in range(each):
                            w, x, y, z = pick4(own, U32(U32(U32(U32(group * U32(each)) + U32(r)) * U32(width)) + g))
                            part[r] += a * w + b * x + c * y + d * z
                    tile = tile_number(U32(row_of_tiles), U32(U32(line) // U32(TILE)), tile_rows)
                    number = U32(U32(TILE * row_of_tile) + U32(U32(line) % U32(TILE)))
                    for r in range(each):
                        at = U32(U32(group * U32(each)) + U32(r))
                        o = I64(begin + I64(at))
                        if at < U32(rows) and o < I64(owners.shape[0]):
                            lost = F32(part[r] + decays[U64(o)] * own[U32(U32(at * U32(width)) + f)])
                            grams[U64(owners[U64(o), 1]), number, tile] -= lost

    return targets_of_block
