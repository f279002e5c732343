"""A rank's share on the CPU; gpu.py has the same class."""

import numpy as np

from gpukit.imputation.distributed.share import Share
from gpukit.imputation.spectral import cpu
from gpukit.imputation.spectral.cpu import COLUMNS


class Part(Share, cpu.TensorCompletion):
    """A rank's share of a tensor: see share.Share. unit: scale of all numbers, see spectral.cpu.Known."""

    journeys = None

    @staticmethod
    def product(a, b, out, add=False):
        """Compute out = a b, or out + a b."""
        if not add:
            np.matmul(a, b, out=out)
            return
        for first in range(0, out.shape[1], COLUMNS):
            out[:, first : first + COLUMNS] += a @ b[:, first : first + COLUMNS]

    @staticmethod
    def for_transport(array):
        """Return an array in the form that transports take."""
        return array
