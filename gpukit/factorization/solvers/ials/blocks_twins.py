"""CPU twin of blocks_kernels.py."""

from gpukit.factorization.model.layout import EXTRA
from gpukit.factorization.solvers.squares.formulas import ONE, ZERO
from gpukit.scheduler import by_block


@by_block(lambda pieces: pieces.shape[0])
def errors_of_pieces(start, stop, pieces, minor, begins, ways, table, errors):
    """Twin of kernels.blocks.errors_of_pieces."""
    width = min(ways.shape[1], table.shape[1]) - EXTRA
    for piece in range(start, stop):
        way, first = ways[pieces[piece, 0], :width], pieces[piece, 1]
        for t in range(first, first + pieces[piece, 2]):
            other, dot = minor[t], ZERO
            for f in range(width):
                dot += table[other, f] * way[f]
            errors[t] = (ONE if begins else errors[t]) - dot


@by_block(lambda out: out.shape[0])
def take_columns(start, stop, table, first, width, out):
    """Twin of kernels.blocks.take_columns."""
    for row in range(start, stop):
        out[row] = ZERO
        for f in range(min(out.shape[1] - EXTRA, width - first)):
            out[row, f] = table[row, first + f]


@by_block(lambda owners: owners.shape[0])
def add_columns(start, stop, owners, found, first, width, table):
    """Twin of kernels.blocks.add_columns."""
    for owner in range(start, stop):
        row = owners[owner, 0]
        for f in range(min(found.shape[1] - EXTRA, width - first)):
            table[row, first + f] += found[row, f]


@by_block(lambda owners: owners.shape[0])
def targets_of_block(start, stop, owners, decays, shared, first, table, grams):
    """Twin of kernels.blocks.targets_of_block."""
    size, width = grams.shape[1] - 2, shared.shape[0]
    for owner in range(start, stop):
        row, target = table[owners[owner, 0]], grams[owners[owner, 1], size + 1]
        for f in range(min(size, width - first)):
            line, total = shared[first + f], decays[owner] * row[first + f]
            for g in range(width):
                total += line[g] * row[g]
            target[f] -= total
