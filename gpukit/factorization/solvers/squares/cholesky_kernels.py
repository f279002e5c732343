"""Solution of normal equations by Cholesky's elimination, one block per row, with the matrix in registers."""

import numpy as np

from gpukit._cuda import cuda, device, factory, kernel
from gpukit.factorization.model.layout import BIAS, EXTRA
from gpukit.factorization.solvers.squares.formulas import F32, ONE, ZERO, inverse_pivot, weight_at
from gpukit.factorization.solvers.squares.plan import TILE, registers_of
from gpukit.factorization.solvers.squares.tiles import SQUARE, add_products, tile_at
from gpukit.primitives.wide import pick4, put4

U32, U64, I64 = np.uint32, np.uint64, np.int64


@device
def load_tile(grams, first, pieces, shared, number, tile):
    """tile = sum of a row's pieces and of the shared matrices.

    The latter is also a loop: unrolled, its loads would occupy registers while the pieces are added.
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
    """Add the weights to a tile of the diagonal; squares: the resulting diagonal."""
    for a in range(TILE):
        position = U32(U32(TILE) * i + U32(a))
        diagonal = tile[(TILE + 1) * a] + weight_at(position, bias, decay, damping)
        tile[(TILE + 1) * a] = diagonal
        squares[position] = diagonal


@device
def _eliminate(tile, squares, first, c):
    """Compute column c of a diagonal tile's Cholesky factor, with the inverse of the pivot on the diagonal."""
    for a in range(c, TILE):
        value = tile[TILE * a + c]
        for s in range(c):
            value -= tile[TILE * a + s] * tile[TILE * c + s]
        tile[TILE * a + c] = value
    inverse = inverse_pivot(tile[(TILE + 1) * c], squares[U32(first + U32(c))])
    tile[(TILE + 1) * c] = inverse
    for a in range(c + 1, TILE):
        tile[TILE * a + c] *= inverse


@device
def _factor(tile, squares, first):
    """Replace a diagonal tile by its Cholesky factor, with the inverses of the pivots on the diagonal.

    squares, from `first` on: the diagonal before any elimination. Columns are written out, here and below: numbers stay
    in registers only if the compiler knows all positions, and it does not unroll three nested loops.
    """
    _eliminate(tile, squares, first, 0)
    _eliminate(tile, squares, first, 1)
    _eliminate(tile, squares, first, 2)
    _eliminate(tile, squares, first, 3)
    _eliminate(tile, squares, first, 4)
    _eliminate(tile, squares, first, 5)
    _eliminate(tile, squares, first, 6)
    _eliminate(tile, squares, first, 7)


@device
def _divide_column(tile, corner, c):
    """Compute column c of _divide."""
    low, high = pick4(corner, U32(TILE * c)), pick4(corner, U32(TILE * c + 4))
    inverse = low[c % 4] if c < 4 else high[c % 4]
    for a in range(TILE):
        value = tile[TILE * a + c]
        for s in range(4):
            if s < c:
                value -= tile[TILE * a + s] * low[s]
        for s in range(4):
            if s + 4 < c:
                value -= tile[TILE * a + s + 4] * high[s]
        tile[TILE * a + c] = F32(value * inverse)


@device
def _divide(tile, corner):
    """tile = tile times the transposed inverse of the factor in `corner`, as stored by _factor."""
    _divide_column(tile, corner, 0)
    _divide_column(tile, corner, 1)
    _divide_column(tile, corner, 2)
    _divide_column(tile, corner, 3)
    _divide_column(tile, corner, 4)
    _divide_column(tile, corner, 5)
    _divide_column(tile, corner, 6)
    _divide_column(tile, corner, 7)


@device
def _solve_unknown(tile, answer, first, c):
    """Compute unknown c of a tile's eight, and subtract it from the equations before."""
    result = F32(answer[U32(first + U32(c))] * tile[(TILE + 1) * c])
    answer[U32(first + U32(c))] = result
    for b in range(c):
        answer[U32(first + U32(b))] -= tile[TILE * c + b] * result


@device
def _unknowns(tile, answer, first):
    """Solve a tile row of the right-hand side, answer from `first` on, with the factor's transpose."""
    _solve_unknown(tile, answer, first, 7)
    _solve_unknown(tile, answer, first, 6)
    _solve_unknown(tile, answer, first, 5)
    _solve_unknown(tile, answer, first, 4)
    _solve_unknown(tile, answer, first, 3)
    _solve_unknown(tile, answer, first, 2)
    _solve_unknown(tile, answer, first, 1)
    _solve_unknown(tile, answer, first, 0)


@device
def _leave(tile, answer, source, first):
    """answer, from `first` on, -= a tile's transpose times the unknowns from `source` on."""
    for b in range(TILE):
        left = ZERO
        for a in range(TILE):
            left += tile[TILE * a + b] * answer[U32(source + U32(a))]
        answer[U32(first + U32(b))] -= left


@device
def _show(tile, i, panel, position, tile_rows):
    """Store a tile's columns in `panel` from `position` on, at the positions of row i."""
    for c in range(TILE):
        place = U32(position + U32(TILE * tile_rows * c) + U32(4) * i)
        put4(panel, place, tile[c], tile[8 + c], tile[16 + c], tile[24 + c])
        place = U32(place + U32(4 * tile_rows))
        put4(panel, place, tile[32 + c], tile[40 + c], tile[48 + c], tile[56 + c])


@factory
def make_solve_by_cholesky(quads, tile_rows, tiles, threads):
    """Return solve_by_cholesky for a plan.Shape of at most plan.DIRECT_TILES tiles per side; threads: its `whole`."""
    size, square, bias = TILE * tile_rows, SQUARE, 4 * quads
    target, room = bias + 1, 2 * TILE * size

    @kernel(max_registers=registers_of(threads))
    def solve_by_cholesky(owners, grams, shared, decays, damping, table):
        """table[row] = factors and bias x of (G + D) x = g, with G and g from the sum of the row's and shared matrices.

        owners (n, 4) int64: row, first piece, pieces, ratings; grams: see gram_of_pieces; shared (any, 64, tiles)
        float32: likewise, of all rows; decays (n,), damping float32: lambda and d of formulas.py; table (rows + 1,
        stride) float32: parameter rows, their factors and biases overwritten.
        The right-hand side is a row of G: eliminating the columns before it solves for it forwards. A tile column is
        divided by the threads of its tile on the diagonal and of those below. These are adjacent, so few warps are
        busy, and warps whose columns are complete are idle.

        Launch: any grid, blocks of `threads`.
        Deterministic: yes; budget.
        Source: Golub and Van Loan, Matrix Computations, 4th ed., 4.2.9 (by blocks).
        """
        panel = cuda.shared.array(room, F32, alignment=16)  # eight columns of the factor, and the previous eight
        corner = cuda.shared.array(square, F32, alignment=16)  # the diagonal tile that divides them
        squares = cuda.shared.array(size, F32)
        answer = cuda.shared.array(size, F32)
        tile = cuda.local.array(square, F32)
        number = U32(cuda.threadIdx.x)
        index = U32(min(number, U32(tiles - 1)))
        row, column = tile_at(index, tile_rows)
        is_active = number < U32(tiles)
        for o in range(I64(cuda.blockIdx.x), I64(owners.shape[0]), I64(cuda.gridDim.x)):
            own = U64(owners[U64(o), 0])
            load_tile(grams, U64(owners[U64(o), 1]), owners[U64(o), 2], shared, index, tile)
            if is_active and row == column:
                _weigh(tile, row, U32(bias), decays[U64(o)], damping, squares)
            for step in range(tile_rows):
                k = U32(step)
                front = U32(U32(k % U32(2)) * U32(TILE * size))
                if is_active and row == k and column == k:
                    _factor(tile, squares, U32(k * U32(TILE)))
                    for q in range(0, square, 4):
                        put4(corner, U32(q), tile[q], tile[q + 1], tile[q + 2], tile[q + 3])
                cuda.syncthreads()
                if is_active and column == k and row > k:
                    _divide(tile, corner)
                    _show(tile, row, panel, front, tile_rows)
                cuda.syncthreads()
                if is_active and column > k:
                    for c in range(TILE):
                        add_products(panel, U32(front + U32(c * size)), row, column, tile_rows, -ONE, tile)
            if is_active and row == U32(target // TILE):
                for b in range(TILE):
                    position = U32(U32(TILE) * column + U32(b))
                    answer[position] = tile[TILE * (target % TILE) + b] if position <= U32(bias) else ZERO
            cuda.syncthreads()
            for step in range(tile_rows):
                k = U32(tile_rows - 1 - step)
                if is_active and row == k and column == k:
                    _unknowns(tile, answer, U32(k * U32(TILE)))
                cuda.syncthreads()
                if is_active and row == k and column < k:
                    _leave(tile, answer, U32(k * U32(TILE)), U32(column * U32(TILE)))
                cuda.syncthreads()
            for f in range(number, U32(bias), U32(threads)):
                table[own, U32(f)] = answer[U32(f)]
            if number == U32(0):
                table[own, U32(U32(table.shape[1] - EXTRA) + U32(BIAS))] = answer[U32(bias)]
            cuda.syncthreads()

    return solve_by_cholesky
