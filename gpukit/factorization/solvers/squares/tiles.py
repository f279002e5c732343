"""Device functions for the lower half of a symmetric matrix in tiles, one per thread."""

import numpy as np

from gpukit._cuda import device
from gpukit.factorization.solvers.squares.plan import TILE
from gpukit.primitives.wide import pick4

U32, F32 = np.uint32, np.float32
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
