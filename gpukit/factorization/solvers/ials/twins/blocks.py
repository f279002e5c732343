"""CPU twin of kernels/blocks.py."""

from gpukit._jit import njit, prange
from gpukit.factorization.model.layout import EXTRA
from gpukit.factorization.solvers.squares.formulas import ONE, ZERO


@njit(parallel=True)
def errors_of_pieces(pieces, minor, begins, ways, table, errors):
    """Twin of kernels.blocks.errors_of_pieces."""
    width = min(ways.shape[1], table.shape[1]) - EXTRA
    for piece in prange(pieces.shape[0]):
        way, first = ways[pieces[piece, 0], :width], pieces[piece, 1]
        for t in range(first, first + pieces[piece, 2]):
            other, dot = minor[t], ZERO
            for f in range(width):
                dot += table[other, f] * way[f]
            errors[t] = (ONE if begins else errors[t]) - dot


@njit(parallel=True)
def take_columns(table, first, width, out):
    """Twin of kernels.blocks.take_columns."""
    for row in prange(out.shape[0]):
        out[row] = ZERO
        for f in range(min(out.shape[1] - EXTRA, width - first)):
            out[row, f] = table[row, first + f]


@njit(parallel=True)
def add_columns(owners, found, first, width, table):
    """Twin of kernels.blocks.add_columns."""
    for owner in prange(owners.shape[0]):
        row = owners[owner, 0]
        for f in range(min(found.shape[1] - EXTRA, width - first)):
            table[row, first + f] += found[row, f]


@njit(parallel=True)
def targets_of_block(owners, decays, shared, first, table, grams):
    """Twin of kernels.blocks.targets_of_block."""
    size, width = grams.shape[1] - 2, shared.shape[0]
    for owner in prange(owners.shape[0]):
        row, target = table[owners[owner, 0]], grams[owners[owner, 1], size + 1]
        for f in range(min(size, width - first)):
            line, total = shared[first + f], decays[owner] * row[first + f]
            for g in range(width):
                total += line[g] * row[g]
            target[f] -= total
