"""A rank's share on the CPU; gpu.py has the same class."""

import numpy as np

from gpukit.imputation.distributed.share import Share
from gpukit.imputation.spectral import cpu
from gpukit.imputation.spectral.cpu import COLUMNS
from gpukit.timing import work_clock


class Part(Share, cpu.TensorCompletion):
    """A rank's share of a tensor: see share.Share. unit: scale of all numbers, see spectral.cpu.Known."""

    journeys = None

    def __init__(self, worker, shape, rows):
        self.shape, self.rows, self.unit, self.leading = shape, rows, 1.0, None

    def set_hidden(self, hidden):
        """Set hidden (rows, own columns) bool, or None: all values are missing."""
        self.hidden = hidden

    @staticmethod
    def vectors_of(basis, dtype, workspace):
        """Return a basis's vectors (N, K) as dtype on the device."""
        return np.ascontiguousarray(basis.vectors, dtype)

    @staticmethod
    def copy_to_device(observed, there):
        """Copy observed values of some vertices, flat, to the device.

        Numbers too large for its type become infinite.
        """
        with np.errstate(over="ignore"):
            there[...] = observed

    @staticmethod
    def rows_of(array, rows):
        """Return some rows, contiguous."""
        return np.ascontiguousarray(array[rows])

    def product(self, a, b, out, add=False):
        """Compute out = a b, or out + a b."""
        if not add:
            np.matmul(a, b, out=out)
            return
        for first in range(0, out.shape[1], COLUMNS):
            out[:, first : first + COLUMNS] += a @ b[:, first : first + COLUMNS]

    def copy(self, source, out):
        """Copy source to out."""
        np.copyto(out, source)

    def plus(self, a, b, out):
        """Compute out = a + b."""
        np.add(a, b, out=out)

    zeros, empty = staticmethod(np.zeros), staticmethod(np.empty)

    contiguous = staticmethod(np.ascontiguousarray)

    @staticmethod
    def for_transport(array):
        """Return an array in the form that transports take."""
        return array

    @staticmethod
    def to_host(array):
        """Return an array on the host."""
        return array

    def mark(self):
        """Return the current time."""
        return work_clock()

    def between(self, start, end):
        """Return the seconds between two marks."""
        return end - start
