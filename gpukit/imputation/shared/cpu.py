"""A rank's share on the CPU; gpu.py has the same class."""

import numpy as np

from gpukit.imputation.shared.share import Share
from gpukit.imputation.spectral import cpu
from gpukit.imputation.spectral.cpu import COLUMNS
from gpukit.timing import work_clock


class Part(Share, cpu.Session):
    """A rank's share of a tensor: see share.Share. unit: what all numbers are in, see spectral.steps.Known."""

    journeys = None

    def __init__(self, crew, shape, rows):
        self.shape, self.rows, self.unit, self.leading = shape, rows, 1.0, None

    def set_hidden(self, hidden):
        """hidden (rows, own columns) bool, or None: all is missing."""
        self.hidden = hidden

    @staticmethod
    def vectors_of(basis, dtype, workspace):
        """A basis's vectors (N, K) as dtype, where the work is."""
        return np.ascontiguousarray(basis.vectors, dtype)

    @staticmethod
    def placed(observed, there):
        """there = some vertices of what is observed, flat; numbers too large for its type become infinite."""
        with np.errstate(over="ignore"):
            there[...] = observed

    @staticmethod
    def rows_of(array, rows):
        """Some rows, contiguous."""
        return np.ascontiguousarray(array[rows])

    def product(self, a, b, out, add=False):
        """out = a b, or out + a b."""
        if not add:
            np.matmul(a, b, out=out)
            return
        for first in range(0, out.shape[1], COLUMNS):
            out[:, first : first + COLUMNS] += a @ b[:, first : first + COLUMNS]

    def copy(self, source, out):
        """out = source."""
        np.copyto(out, source)

    def plus(self, a, b, out):
        """out = a + b."""
        np.add(a, b, out=out)

    zeros, empty = staticmethod(np.zeros), staticmethod(np.empty)

    contiguous = staticmethod(np.ascontiguousarray)

    @staticmethod
    def told(array):
        """An array as lines take it."""
        return array

    @staticmethod
    def fetched(array):
        """An array on the host."""
        return array

    def mark(self):
        """Now."""
        return work_clock()

    def between(self, begun, done):
        """Seconds from one mark to another."""
        return done - begun
