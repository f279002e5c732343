"""A symmetric matrix's lower half in tiles, a tile a thread: device functions that its kernels share."""

import numpy as np

from gpukit._cuda import device
from gpukit.factorization.solvers.squares.plan import TILE

U32, F32 = np.uint32, np.float32
SQUARE = TILE * TILE


@device
def tile_row(tile):
    """The row i of tile number i (i + 1) / 2 + j, j <= i."""
    i = U32(0)
    while U32((i + U32(1)) * (i + U32(2))) // U32(2) <= tile:
        i = U32(i + U32(1))
    return i


@device
def place_of(number, tile_rows):
    """Where number 8 i + a of a column stands in shared memory."""
    return U32(U32(number % U32(TILE)) * U32(tile_rows) + U32(number // U32(TILE)))


@device
def add_products(columns, at, i, j, tile_rows, sign, tile):
    """tile += sign x y' of the column that begins at columns[at], x its numbers of tile row i, y those of j."""
    for a in range(TILE):
        x = F32(sign * columns[U32(at + U32(a * tile_rows) + i)])
        for b in range(TILE):
            tile[TILE * a + b] += x * columns[U32(at + U32(b * tile_rows) + j)]
