"""CPU twin of few_kernels.py."""

import numpy as np

from gpukit._jit import njit
from gpukit.factorization.solvers.squares.formulas import ONE, ZERO
from gpukit.scheduler import by_block


@by_block(lambda lines: lines.shape[0])
def grams_of_few(start, stop, lines, minor, weights, decays, spectrum, table, grams):
    """Twin of kernels.few.grams_of_few."""
    size = grams.shape[1] - 2
    for o in range(start, stop):
        first, count, gram = lines[o, 1], lines[o, 2], grams[o]
        scale = ONE / np.sqrt(spectrum + decays[o])
        rows = np.empty((count, spectrum.size), np.float32)
        for t in range(count):
            rows[t] = table[minor[first + t]] * scale
        gram[:] = ZERO
        for a in range(count):
            for b in range(a + 1):
                total = ZERO
                for f in range(spectrum.size):
                    total += rows[a, f] * rows[b, f]
                gram[a, b] = total
            gram[a, a] += ONE / weights[min(first + a, weights.size - 1)]
        gram[size + 1, :count] = ONE


@by_block(lambda out: out.shape[0])
def turn_rows(start, stop, table, basis, out):
    """Twin of kernels.few.turn_rows."""
    for row in range(start, stop):
        _times(table[row], basis, out[row])


@njit
def _times(row, basis, out):
    """out = row basis."""
    out[:] = ZERO
    for g in range(out.size):
        line, own = basis[g], row[g]
        for f in range(out.size):
            out[f] += own * line[f]


@by_block(lambda lines: lines.shape[0])
def rows_of_few(start, stop, lines, minor, decays, spectrum, found, table, back, own):
    """Twin of kernels.few.rows_of_few."""
    for o in range(start, stop):
        row, first = lines[o, 0], lines[o, 1]
        there = np.zeros(spectrum.size, np.float32)
        for t in range(lines[o, 2]):
            there += found[o, t] * table[minor[first + t]]
        _times(there / (spectrum + decays[o]), back, own[row, : spectrum.size])
