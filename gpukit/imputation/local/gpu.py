"""The local regression on a GPU; cpu.py has the same."""

import numpy as np

from gpukit._cuda import cuda
from gpukit.imputation.local import kernels
from gpukit.imputation.local.plan import THREADS, features

BLOCKS = 1056


class Session:
    """See steps.Session. What a ground has stays on the device until another one comes."""

    def __init__(self):
        self.ground, self.there = None, None

    def describe(self, ground, vertex, column):
        """See steps.Session."""
        if ground is not self.ground:
            self.ground, self.there = ground, [cuda.to_device(np.ascontiguousarray(part)) for part in ground]
        out = cuda.device_array((len(vertex), features(ground.near.shape[1])), np.float32)
        base = cuda.device_array(len(vertex), np.float32)
        if len(vertex):
            places = cuda.to_device(vertex), cuda.to_device(column)
            kernels.describe[BLOCKS, THREADS](*self.there, *places, out, base)
        return out, base

    def host(self, array):
        """See steps.Session."""
        return array.copy_to_host()

    def joined(self, parts, order):
        """See steps.Session."""
        return cuda.to_device(np.concatenate([part.copy_to_host() for part in parts])[order])

    def regress(self, features, targets, first, start, pull, group, rounds):
        """See steps.Session."""
        out = cuda.device_array((len(group), features.shape[1]), np.float64)
        weights = cuda.device_array(max(1, len(targets)), np.float64)
        given = [cuda.to_device(np.ascontiguousarray(array)) for array in (targets, first, start, pull, group)]
        kernels.regress[len(group), THREADS](features, *given, rounds, out, weights)
        return out.copy_to_host()

    def answer(self, features, base, group, coefficients):
        """See steps.Session."""
        out = cuda.device_array(len(group), np.float64)
        if len(group):
            kernels.answer[BLOCKS, THREADS](features, base, cuda.to_device(group), cuda.to_device(coefficients), out)
        return out.copy_to_host()
