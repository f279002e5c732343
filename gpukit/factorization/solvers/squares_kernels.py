"""Normal equations of many rows and their solution, with a matrix in tiles, one per thread.

The equations are sums of products of the other side's rows, in pieces. Cholesky's elimination has one block per row,
with the matrix in registers.
"""

import math

import numpy as np

from gpukit._cuda import cuda, device, factory, kernel
from gpukit.factorization.model.layout import BIAS, EXTRA
from gpukit.factorization.solvers.squares import TILE, registers_of
from gpukit.factorization.solvers.squares_formulas import F32, ONE, ZERO, inverse_pivot, weight_at
from gpukit.primitives.warp import FULL
from gpukit.primitives.wide import pick4, put4, read4

U32, U64, I64 = np.uint32, np.uint64, np.int64
SQUARE = TILE * TILE


@device
def tile_at(number, tile_rows):
    """Return row and column (i, j) of a tile; tiles are numbered by column, from the diagonal down."""
    j, first = U32(0), U32(0)
    while U32(first + U32(tile_rows) - j) <= number:
        first = U32(first + U32(tile_rows) - j)
        j = U32(j + U32(1))
    return U32(number - first + j), j


@device
def tile_number(i, j, tile_rows):
    """Return the number of tile (i, j), j <= i."""
    return U32(U32(U32(j * U32(U32(2 * tile_rows + 1) - j)) // U32(2)) + U32(i - j))


@device
def place_of(number, tile_rows):
    """Return the position 4 (q I + i) + e of number 8 i + 4 q + e of a column in shared memory; I: tiles per side."""
    quad = U32(number // U32(4))
    place = U32(U32(U32(quad % U32(2)) * U32(tile_rows)) + U32(quad // U32(2)))
    return U32(U32(U32(4) * place) + U32(number % U32(4)))


@device
def _add_quads(x, y, first, tile):
    """Add x y' to a quarter of a tile, from number `first` on."""
    for a in range(4):
        for b in range(4):
            tile[first + TILE * a + b] += x[a] * y[b]


@device
def add_products(columns, position, i, j, tile_rows, sign, tile):
    """tile += sign x y' of the column at columns[at], x its numbers of tile row i, y those of j."""
    low, high = U32(position + U32(4) * i), U32(position + U32(4) * U32(U32(tile_rows) + i))
    a, b, c, d = pick4(columns, low)
    e, f, g, h = pick4(columns, high)
    left = pick4(columns, U32(position + U32(4) * j))
    right = pick4(columns, U32(position + U32(4) * U32(U32(tile_rows) + j)))
    upper, lower = (sign * a, sign * b, sign * c, sign * d), (sign * e, sign * f, sign * g, sign * h)
    _add_quads(upper, left, 0, tile)
    _add_quads(upper, right, 4, tile)
    _add_quads(lower, left, 32, tile)
    _add_quads(lower, right, 36, tile)


@device
def _root(weights, t):
    """Return the root of rating t's weight; weights of length 1 hold for all."""
    return F32(math.sqrt(weights[min(t, U64(weights.size - 1))]))


@device
def _stage(first, count, batch, shape, stage):
    """Load the extended rows (v, 1, z - b) of `count` ratings, times the roots of their weights, into shared memory."""
    minor, values, weights, table, biased = batch
    quads, tile_rows, pitch = shape
    for index in range(U32(cuda.threadIdx.x), U32(count * quads), U32(cuda.blockDim.x)):
        t = U32(U32(index) // U32(quads))
        q = U32(U32(index) - U32(t * U32(quads)))
        a, b, c, d = read4(table, U32(minor[U64(first + t)]), U32(U32(4) * q))
        root = _root(weights, U64(first + t))
        place = U32(U32(t * U32(pitch)) + place_of(U32(U32(4) * q), tile_rows))
        put4(stage, place, root * a, root * b, root * c, root * d)
    bias = U32(4 * quads)
    for index in range(U32(cuda.threadIdx.x), U32(count), U32(cuda.blockDim.x)):
        t, row = U64(first + U64(index)), U32(U32(index) * U32(pitch))
        other = table[U32(minor[t]), U32(U32(table.shape[1] - EXTRA) + U32(BIAS))]
        root = _root(weights, t)
        stage[U32(row + place_of(bias, tile_rows))] = root if biased else ZERO
        value = values[min(t, U64(values.size - 1))]
        stage[U32(row + place_of(U32(bias + U32(1)), tile_rows))] = root * F32(value - other)


@factory
def make_gram_of_pieces(quads, tile_rows, tiles, threads, slices, groups, staged):
    """Return gram_of_pieces for a plan.Shape."""
    pitch = TILE * tile_rows + 4
    lanes, room = threads // slices, staged * pitch

    @kernel(max_registers=128)
    def gram_of_pieces(pieces, minor, values, weights, table, biased, grams):
        """grams[p] = sum w y y' over the ratings of piece p, y = (v, 1, z - b), with v and b of the other side's row.

        pieces (n, 3) int64: row, first rating, ratings; minor (nnz,) int32; values z, weights w (nnz,) float32, or (1,)
        for all; table (rows + 1, stride) float32: the other side's parameter rows, 4 quads of factors and more; biased:
        False replaces the 1 of y by 0; grams (n, 64, tiles) float32, overwritten: number 8 a + b of tile (i, j), with
        the numbering of tile_at, is that of row 8 i + a, column 8 j + b.

        Launch: a grid of any blocks and `groups` in its second dimension, blocks of `threads`.
        Deterministic: yes; budget.
        Source: Tan, Cao and Fong, Faster and Cheaper: Parallelizing Large-Scale Matrix Factorization on GPUs (cuMF),
        HPDC 2016, sec. 3 (tiles in registers, rows in shared memory).
        """
        batch = minor, values, weights, table, biased
        stage = cuda.shared.array(room, F32, alignment=16)
        tile = cuda.local.array(SQUARE, F32)
        thread = U32(cuda.threadIdx.x)
        slice_, number = U32(thread // U32(lanes)), U32(U32(thread % U32(lanes)) + U32(cuda.blockIdx.y) * U32(threads))
        index = U32(min(number, U32(tiles - 1)))
        i, j = tile_at(index, tile_rows)
        for at in range(thread, U32(room), U32(threads)):
            stage[U32(at)] = ZERO
        for piece in range(I64(cuda.blockIdx.x), I64(pieces.shape[0]), I64(cuda.gridDim.x)):
            first, length = U64(pieces[U64(piece), 1]), U32(pieces[U64(piece), 2])
            for e in range(SQUARE):
                tile[e] = ZERO
            for begin in range(U32(0), length, U32(staged)):
                count = U32(min(U32(length - U32(begin)), U32(staged)))
                cuda.syncthreads()
                _stage(U64(first + U64(begin)), count, batch, (quads, tile_rows, pitch), stage)
                cuda.syncthreads()
                for t in range(slice_, count, U32(slices)):
                    add_products(stage, U32(U32(t) * U32(pitch)), i, j, tile_rows, ONE, tile)
            reach = lanes
            while reach < threads:
                for e in range(SQUARE):
                    tile[e] += cuda.shfl_xor_sync(FULL, tile[e], reach)
                reach *= 2
            if slice_ == U32(0) and number < U32(tiles):
                for e in range(SQUARE):
                    grams[U64(piece), U32(e), number] = tile[e]

    return gram_of_pieces


@kernel
def sum_of_grams(grams, out):
    """out = the sum of Gram matrices, in their order.

    grams (n, 64, tiles) float32: see gram_of_pieces, n at least 1; out (1, 64, tiles) float32, overwritten.

    Launch: any grid and block.
    Deterministic: yes; budget.
    Source: ours.
    """
    tiles = U32(out.shape[2])
    for index in range(U32(cuda.grid(1)), U32(out.size), U32(cuda.gridsize(1))):
        e, number = U32(U32(index) // tiles), U32(U32(index) % tiles)
        total = grams[0, e, number]
        for piece in range(I64(1), I64(grams.shape[0])):
            total += grams[U64(piece), e, number]
        out[0, e, number] = total


@kernel
def as_matrix(gram, matrix):
    """matrix = the factors' part of a Gram matrix, both halves, padded with zeros.

    gram (1, 64, tiles) float32: see gram_of_pieces; matrix (n, n) float32, overwritten.

    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    n, tile_rows = U32(matrix.shape[0]), U32(0)
    while U32(U32(tile_rows * U32(tile_rows + U32(1))) // U32(2)) < U32(gram.shape[2]):
        tile_rows = U32(tile_rows + U32(1))
    for index in range(U32(cuda.grid(1)), U32(matrix.size), U32(cuda.gridsize(1))):
        a, b = U32(U32(index) // n), U32(U32(index) % n)
        high, low = U32(max(a, b)), U32(min(a, b))
        i, j = U32(high // U32(TILE)), U32(low // U32(TILE))
        e = U32(U32(U32(high % U32(TILE)) * U32(TILE)) + U32(low % U32(TILE)))
        matrix[a, b] = gram[0, e, tile_number(i, j, tile_rows)] if i < tile_rows else ZERO


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
