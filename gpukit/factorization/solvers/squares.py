"""Least squares of many rows at once, for als and ials: normal equations, their partition, a few rows on the host.

squares_formulas.py has the problem. A Gram matrix is that of the extended rows y = (v, 1, z - b): 4 quads of factors,
padded with zeros, the 1 of the bias, the right-hand side. On a GPU its lower half is cut into tiles of TILE x TILE
numbers, one per thread.

Gram matrices and elimination (squares_kernels.py) begin with the same step: products of a few columns in shared memory
are added to a tile in a thread's registers. Number 8 i + a of a column is at position a I + i there, with I tiles per
side: the threads of a warp, which have consecutive i and j, then read adjacent or equal positions.

Cost: nnz F^2 / 2 multiplications, and F^3 / 6 per row. Deterministic: yes, for any number of threads.
"""

import math
from typing import NamedTuple

import numpy as np

from gpukit.errors import ParameterError
from gpukit.factorization.solvers.squares_formulas import ONE

TILE = 8
WARP = 32
DIRECT_TILES = 33  # tiles per side, at most, of a matrix that one block eliminates in registers: F <= 260
MOST_FACTORS = 4 * ((TILE * DIRECT_TILES - 2) // 4)


class Shape(NamedTuple):
    """Work distribution of a GPU on Gram matrices.

    quads of factors; tile_rows, tiles: tiles per side and in all; threads of a block, with `slices` threads per tile,
    each with ratings of its own; groups: blocks that share the tiles of a matrix; staged: ratings in shared memory at
    once.
    """

    quads: int
    tile_rows: int
    tiles: int
    threads: int
    slices: int
    groups: int
    staged: int

    @property
    def whole(self):
        """Threads of a block with a thread for each tile."""
        return -(-self.tiles // WARP) * WARP


def shape_of(n_factors):
    """Return the Shape for F factors."""
    most_threads, stage_bytes = 256, 32 << 10  # of a block; of shared memory for the rows that a block multiplies
    quads = -(-n_factors // 4)
    tile_rows = -(-(4 * quads + 2) // TILE)
    tiles = tile_rows * (tile_rows + 1) // 2
    groups = -(-tiles // most_threads)
    threads = -(-tiles // (WARP * groups)) * WARP
    slices = 1 << (WARP // tiles).bit_length() - 1 if tiles <= WARP else 1
    staged = max(4, min(WARP, stage_bytes // (4 * (TILE * tile_rows + 4))))
    return Shape(quads, tile_rows, tiles, threads, slices, groups, staged)


def registers_of(threads):
    """Return the registers available to each thread of a block of `threads`."""
    registers, most_registers = 1 << 16, 128  # of a multiprocessor, and of a thread with a tile
    four_warps = 128  # threads; a multiprocessor has four parts with equal numbers of warps
    return min(most_registers, registers // (-(-threads // four_warps) * four_warps) // 8 * 8)


class Cut(NamedTuple):
    """Partition of one side's rows.

    pieces (p, 3) int64: row, first rating, ratings; owners (m, 4) int64: row, first piece in its batch, pieces,
    ratings; ends (batches + 1, 2): bounds of the batches in both.
    """

    pieces: np.ndarray
    owners: np.ndarray
    ends: np.ndarray

    def owned(self, indptr):
        """Return the first rating of each owner, (m,) int64, for rows with ratings indptr."""
        return indptr[self.owners[:, 0]]

    @property
    def largest(self):
        """Pieces of the largest batch."""
        return int(np.diff(self.ends[:, 0]).max(initial=0))


def cut(indptr, longest, most, span=None):
    """Return the Cut of the rows of indptr (rows + 1,) with ratings.

    Pieces have up to `longest` ratings and about equal length; a batch has up to `most` pieces, or a single row with
    more. span: (first, last + 1) of the rows, None: all.
    """
    counts = np.diff(indptr)
    rows = np.flatnonzero(counts)
    if span is not None:
        rows = rows[slice(*np.searchsorted(rows, span))]
    counts = counts[rows]
    parts = -(-counts // longest)
    before = np.concatenate(([0], np.cumsum(parts)))
    owner = np.repeat(np.arange(len(rows)), parts)
    part = np.arange(before[-1]) - before[owner]
    low, high = (step * counts[owner] // parts[owner] for step in (part, part + 1))
    pieces = np.stack((rows[owner], indptr[rows[owner]] + low, high - low), axis=1).astype(np.int64)
    last = [0]
    while last[-1] < len(rows):
        fits = int(np.searchsorted(before, before[last[-1]] + most, "right")) - 1
        last.append(max(last[-1] + 1, fits))
    last = np.array(last)
    first = before[:-1] - np.repeat(before[last[:-1]], np.diff(last))
    owners = np.stack((rows, first, parts, counts), axis=1).astype(np.int64)
    return Cut(pieces, owners, np.stack((before[last], last), axis=1))


def pieces_at_once(steps, n_factors, device, remedy):
    """Return the number of pieces whose Gram matrices of F factors exist at once.

    Raise ParameterError if the Device cannot eliminate such matrices; remedy: another solver.
    """
    if device.is_cuda and n_factors > MOST_FACTORS:
        raise ParameterError(
            f"n_factors={n_factors} is too large for elimination on a GPU, which takes up to {MOST_FACTORS}. Use "
            f"{remedy}, or device='cpu'."
        )
    return max(1, steps.SCRATCH // (4 * math.prod(steps.gram_shape(n_factors))))


def batches_of(cut, decays, steps):
    """Return [(pieces, owners, decays)] of a Cut, on the device; decays (m,) float32: lambda of each owner."""
    batches = []
    for (piece, owner), (last_piece, last_owner) in zip(cut.ends, cut.ends[1:]):
        lines = cut.pieces[piece:last_piece], cut.owners[owner:last_owner]
        batch_decays = steps.resident(decays[owner:last_owner], np.float32)
        batches.append((*(steps.resident(part, np.int64) for part in lines), batch_decays))
    return batches


class Data(NamedTuple):
    """Ratings of the rows, on the device, by row.

    minor (nnz,) int32: rows of the other side; values z, weights w (nnz,) float32, or (1,) for all.
    """

    minor: np.ndarray
    values: np.ndarray
    weights: np.ndarray


class Equations:
    """Normal equations of rows of F factors and, if biased, a bias, `most` pieces at once.

    steps: those of the solvers; damping of the biases, float32.
    """

    def __init__(self, steps, n_factors, most, biased=False, damping=ONE):
        self.steps, self.n_factors, self.biased, self.damping = steps, n_factors, biased, damping
        self.grams = steps.empty((most, *steps.gram_shape(n_factors)), np.float32)

    def nothing(self):
        """Return a Gram matrix of no rows."""
        return self.steps.zeros((1, *self.grams.shape[1:]), np.float32)

    def sums(self, pieces, data, table):
        """Return the Gram matrix of a table's rows, without biases: of Data in a Cut's pieces, `most` at most."""
        out, grams = self.nothing(), self.grams[: pieces.shape[0]]
        self.steps.gram_of_pieces(self.n_factors, pieces, *data, table, False, grams)
        self.steps.run("sum_of_grams", grams, out)
        return out

    def matrix(self, gram, size):
        """Return the factors' part of a Gram matrix, both halves, (size, size) float32."""
        out = self.steps.empty((size, size), np.float32)
        self.steps.run("as_matrix", gram, out)
        return out

    def solve(self, half, other, table):
        """Queue the solution for all rows of an als.Half of `table`, with the table `other` fixed."""
        shared = self.nothing() if half.every is None else self.sums(*half.every, other)
        for batch in half.batches:
            self.solve_batch(batch, half.data, other, shared, table)

    def solve_batch(self, batch, data, other, shared, table):
        """Queue the solution for rows of `table`, with the table `other` fixed.

        batch: (pieces, owners) of a Cut and decays (rows,) float32, lambda of each owner, on the device; shared: Gram
        matrix shared by all rows, see `sums`; F: up to MOST_FACTORS on a GPU.
        """
        pieces, owners, decays = batch
        self.steps.gram_of_pieces(self.n_factors, pieces, *data, other, self.biased, self.grams)
        self.steps.solve_by_cholesky(self.n_factors, owners, self.grams, shared, decays, self.damping, table)


def solve_symmetric(matrices, targets):
    """Return x (..., F, k) of symmetric matrices (..., F, F) x = targets (..., F, k).

    The shortest solution for singular matrices. A trained model's ridge prevents these unless it vanishes next to very
    large numbers.
    """
    try:
        return np.linalg.solve(matrices, targets)
    except np.linalg.LinAlgError:
        return np.linalg.pinv(matrices, hermitian=True) @ targets
