"""Normal equations of many rows: sums of products of the other side's rows, in pieces."""

import math

import numpy as np

from gpukit._cuda import cuda, device, factory, kernel
from gpukit.factorization.model.layout import BIAS, EXTRA
from gpukit.factorization.solvers.squares.formulas import F32, ONE, ZERO
from gpukit.factorization.solvers.squares.plan import TILE
from gpukit.factorization.solvers.squares.tiles import SQUARE, add_products, place_of, tile_at, tile_number
from gpukit.primitives.warp import FULL
from gpukit.primitives.wide import put4, read4

U32, U64, I64 = np.uint32, np.uint64, np.int64


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
        the numbering of tiles.py, is that of row 8 i + a, column 8 j + b.

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
