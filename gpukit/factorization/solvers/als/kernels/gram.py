"""The normal equations of many rows: sums of products of the other side's rows, in pieces."""

import functools

import numpy as np

from gpukit._cuda import cuda, device, kernel
from gpukit.factorization.model.layout import BIAS, EXTRA
from gpukit.factorization.solvers.als.formulas import F32, ONE, ZERO, root_at, value_at
from gpukit.factorization.solvers.als.kernels.tiles import SQUARE, add_products, place_of, tile_row
from gpukit.primitives.wide import read4

U32, U64, I64 = np.uint32, np.uint64, np.int64
FULL = np.uint32(0xFFFFFFFF)


@device
def _stage(first, count, batch, shape, stage):
    """The extended rows (v, 1, z - b) of `count` ratings in shared memory; a row of zeros behind each four quads."""
    minor, values, table, biased = batch
    quads, tile_rows, pitch = shape
    for at in range(U32(cuda.threadIdx.x), U32(count * quads), U32(cuda.blockDim.x)):
        t = U32(U32(at) // U32(quads))
        q = U32(U32(at) - U32(t * U32(quads)))
        quad, root = read4(table, U32(minor[U64(first + t)]), U32(U32(4) * q)), root_at(values, U64(first + t))
        row = U32(t * U32(pitch))
        for e in range(4):
            stage[U32(row + place_of(U32(U32(4) * q + U32(e)), tile_rows))] = F32(root * quad[e])
    bias = U32(4 * quads)
    for at in range(U32(cuda.threadIdx.x), U32(count), U32(cuda.blockDim.x)):
        t, row = U64(first + U64(at)), U32(U32(at) * U32(pitch))
        other = table[U32(minor[t]), U32(U32(table.shape[1] - EXTRA) + U32(BIAS))]
        root = root_at(values, t)
        stage[U32(row + place_of(bias, tile_rows))] = root if biased else ZERO
        stage[U32(row + place_of(U32(bias + U32(1)), tile_rows))] = F32(root * F32(value_at(values, t) - other))


@functools.cache
def make_gram_of_pieces(quads, tile_rows, tiles, threads, slices, groups, staged):
    """gram_of_pieces for a plan.Shape."""
    pitch = 8 * tile_rows + 1
    lanes, room = threads // slices, staged * pitch

    @kernel
    def gram_of_pieces(pieces, minor, values, table, biased, grams):
        """grams[p] = sum y y' over the ratings of piece p, y = (v, 1, z - b): v and b of the other side's row.

        pieces (n, 3) int64: row, first rating, ratings; minor (nnz,) int32, values (nnz,) float32 z, or (nnz, 2) with
        the roots of weights, which y is times then; table (rows + 1, stride) float32: the other side's parameter
        rows, 4 quads of factors and more; biased: whether y has its 1, else 0; grams (n, 64, tiles) float32,
        overwritten: number 8 a + b of tile i (i + 1) / 2 + j is that of row 8 i + a, column 8 j + b.

        Launch: a grid of any blocks and `groups` in its second dimension, blocks of `threads`.
        Deterministic: yes; budget.
        Source: Tan, Cao and Fong, Faster and Cheaper: Parallelizing Large-Scale Matrix Factorization on GPUs (cuMF),
        HPDC 2016, sec. 3 (tiles in registers, rows in shared memory).
        """
        stage = cuda.shared.array(room, F32)
        tile = cuda.local.array(SQUARE, F32)
        thread = U32(cuda.threadIdx.x)
        slice_, number = U32(thread // U32(lanes)), U32(U32(thread % U32(lanes)) + U32(cuda.blockIdx.y) * U32(threads))
        mine = U32(min(number, U32(tiles - 1)))
        i = tile_row(mine)
        j = U32(mine - U32(U32(i * U32(i + U32(1))) // U32(2)))
        for at in range(thread, U32(room), U32(threads)):
            stage[U32(at)] = ZERO
        for piece in range(I64(cuda.blockIdx.x), I64(pieces.shape[0]), I64(cuda.gridDim.x)):
            first, length = U64(pieces[U64(piece), 1]), U32(pieces[U64(piece), 2])
            for e in range(SQUARE):
                tile[e] = ZERO
            for begin in range(U32(0), length, U32(staged)):
                count = U32(min(U32(length - U32(begin)), U32(staged)))
                cuda.syncthreads()
                _stage(U64(first + U64(begin)), count, (minor, values, table, biased), (quads, tile_rows, pitch), stage)
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
