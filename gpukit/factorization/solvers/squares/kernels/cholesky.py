"""Normal equations solved by Cholesky's elimination, a block a row, the matrix in its threads' registers."""

import functools

import numpy as np

from gpukit._cuda import cuda, device, kernel
from gpukit.factorization.model.layout import BIAS, EXTRA
from gpukit.factorization.solvers.squares.formulas import F32, ONE, ZERO, inverse_pivot, weight_at
from gpukit.factorization.solvers.squares.kernels.tiles import SQUARE, add_products, tile_row
from gpukit.factorization.solvers.squares.plan import MOST_REGISTERS, REGISTERS, TILE

U32, U64, I64 = np.uint32, np.uint64, np.int64


@device
def load_tile(grams, first, pieces, shared, number, tile):
    """tile = the sum of a row's pieces and of what all rows share.

    The latter is a loop too: as straight code its loads would wait in registers while the former's are added.
    """
    for e in range(SQUARE):
        tile[e] = grams[first, U32(e), number]
    for piece in range(I64(1), I64(pieces)):
        for e in range(SQUARE):
            tile[e] += grams[U64(first + U64(piece)), U32(e), number]
    for part in range(I64(0), I64(shared.shape[0])):
        for e in range(SQUARE):
            tile[e] += shared[U64(part), U32(e), number]


@device
def _weigh(tile, i, bias, decay, damping, squares):
    """Add the weights to a tile of the diagonal; squares: what then stands on it."""
    for a in range(TILE):
        at = U32(U32(TILE) * i + U32(a))
        own = tile[(TILE + 1) * a] + weight_at(at, bias, decay, damping)
        tile[(TILE + 1) * a] = own
        squares[at] = own


@device
def _invert(corners, at, lane, squares, first):
    """The tile at corners[at] becomes the inverse of its Cholesky factor; lane r < 8 works on its row r.

    Gaussian elimination of [tile, I] in the tile's place: in step c a row's numbers up to c belong to the right half,
    its others to the left one. squares, from `first` on: what stood on the diagonal before any elimination.
    """
    here = U32(at + U32(U32(TILE) * lane))
    for c in range(TILE):
        row = U32(at + U32(TILE * c))
        inverse = inverse_pivot(corners[U32(row + U32(c))], squares[U32(first + U32(c))])
        if lane > U32(c) and lane < U32(TILE):
            factor = F32(F32(corners[U32(here + U32(c))] * inverse) * inverse)
            for s in range(TILE):
                value = -factor
                if s != c:
                    value = corners[U32(here + U32(s))] - factor * corners[U32(row + U32(s))]
                corners[U32(here + U32(s))] = value
        cuda.syncwarp()
    if lane < U32(TILE):
        own = inverse_pivot(corners[U32(here + lane)], squares[U32(first + lane)])
        for s in range(TILE):
            value = own
            if U32(s) != lane:
                value = F32(corners[U32(here + U32(s))] * own) if U32(s) < lane else ZERO
            corners[U32(here + U32(s))] = value


@device
def _unknowns(corners, at, lane, answer, first):
    """answer from `first` on, a tile row of what is left of the right-hand side, through the inverse's transpose."""
    value = ZERO
    if lane < U32(TILE):
        for a in range(TILE):
            value += corners[U32(at + U32(U32(TILE * a) + lane))] * answer[U32(first + U32(a))]
    cuda.syncwarp()
    if lane < U32(TILE):
        answer[U32(first + lane)] = value


@device
def _divide(panel, pitch, i, tile_rows, corners, at, tile):
    """tile = its columns, as they stand in panel, times the transposed inverse at corners[at]."""
    for e in range(SQUARE):
        tile[e] = ZERO
    for c in range(TILE):
        for a in range(TILE):
            x = panel[U32(U32(U32(c) * U32(pitch)) + U32(U32(a * tile_rows) + i))]
            for b in range(TILE):
                tile[TILE * a + b] += x * corners[U32(at + U32(U32(TILE * b) + U32(c)))]


@device
def _leave(tile, answer, found, first):
    """answer, from `first` on, loses a tile's transpose times the unknowns that were found."""
    for b in range(TILE):
        left = ZERO
        for a in range(TILE):
            left += tile[TILE * a + b] * answer[U32(found + U32(a))]
        answer[U32(first + U32(b))] -= left


@device
def show_tile(tile, i, panel, pitch, tile_rows):
    """A tile's columns in panel, in the places of row i."""
    for c in range(TILE):
        for a in range(TILE):
            panel[U32(U32(c * pitch) + U32(a * tile_rows) + i)] = tile[TILE * a + c]


@functools.cache
def make_solve_by_cholesky(quads, tile_rows, tiles, threads):
    """solve_by_cholesky for a plan.Shape of at most plan.DIRECT_TILES tiles a side; threads: its `whole`."""
    pitch, size, square = TILE * tile_rows + 1, TILE * tile_rows, SQUARE
    bias = 4 * quads
    target, room, corner_room = bias + 1, TILE * pitch, SQUARE * tile_rows

    @kernel(max_registers=min(MOST_REGISTERS, REGISTERS // threads // 8 * 8))
    def solve_by_cholesky(owners, grams, shared, decays, damping, table):
        """table[row] = the row's factors and bias: (G + D) x = g, G and g of the sum of its Gram matrices and shared.

        owners (n, 4) int64: row, first piece, pieces, ratings; grams: see gram_of_pieces; shared (any, 64, tiles)
        float32: likewise, of all rows; decays (n,), damping float32: lambda and d of formulas.py; table (rows + 1,
        stride) float32: parameter rows, their factors and biases overwritten.
        The right-hand side is a row of G: eliminating the columns before it solves for it forwards.

        Launch: any grid, blocks of `threads`.
        Deterministic: yes; budget.
        Source: Golub and Van Loan, Matrix Computations, 4th ed., 4.2.9 (by blocks).
        """
        panel = cuda.shared.array(room, F32)  # eight columns of the factor
        corners = cuda.shared.array(corner_room, F32)  # the inverse of each tile on its diagonal
        squares = cuda.shared.array(size, F32)
        answer = cuda.shared.array(size, F32)
        tile = cuda.local.array(square, F32)
        number = U32(cuda.threadIdx.x)
        mine = U32(min(number, U32(tiles - 1)))
        row = tile_row(mine)
        column = U32(mine - U32(U32(row * U32(row + U32(1))) // U32(2)))
        works = number < U32(tiles)
        for o in range(I64(cuda.blockIdx.x), I64(owners.shape[0]), I64(cuda.gridDim.x)):
            own = U64(owners[U64(o), 0])
            load_tile(grams, U64(owners[U64(o), 1]), owners[U64(o), 2], shared, mine, tile)
            if works and row == column:
                _weigh(tile, row, U32(bias), decays[U64(o)], damping, squares)
            for step in range(tile_rows):
                k = U32(step)
                corner = U32(k * U32(square))
                if works and column == k:
                    show_tile(tile, row, panel, pitch, tile_rows)
                    if row == k:
                        for e in range(square):
                            corners[U32(corner + U32(e))] = tile[e]
                cuda.syncthreads()
                if number < U32(32):
                    _invert(corners, corner, number, squares, U32(k * U32(TILE)))
                cuda.syncthreads()
                if works and column == k:
                    _divide(panel, pitch, row, tile_rows, corners, corner, tile)
                    show_tile(tile, row, panel, pitch, tile_rows)
                cuda.syncthreads()
                if column > k:
                    for c in range(TILE):
                        add_products(panel, U32(c * pitch), row, column, tile_rows, -ONE, tile)
                cuda.syncthreads()
            if works and row == U32(target // TILE):
                for b in range(TILE):
                    at = U32(U32(TILE) * column + U32(b))
                    answer[at] = tile[TILE * (target % TILE) + b] if at <= U32(bias) else ZERO
            cuda.syncthreads()
            for step in range(tile_rows):
                k = U32(tile_rows - 1 - step)
                if number < U32(32):
                    _unknowns(corners, U32(k * U32(square)), number, answer, U32(k * U32(TILE)))
                cuda.syncthreads()
                if works and row == k and column < k:
                    _leave(tile, answer, U32(k * U32(TILE)), U32(column * U32(TILE)))
                cuda.syncthreads()
            for f in range(number, U32(bias), U32(threads)):
                table[own, U32(f)] = answer[U32(f)]
            if number == U32(0):
                table[own, U32(U32(table.shape[1] - EXTRA) + U32(BIAS))] = answer[U32(bias)]
            cuda.syncthreads()

    return solve_by_cholesky
