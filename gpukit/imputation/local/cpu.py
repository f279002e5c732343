"""The local regression on the CPU; gpu.py has the same interface."""

import numpy as np

from gpukit.imputation.local import regression, twins
from gpukit.imputation.local.formulas import features


class Session:
    """Local regression on a device."""

    def describe(self, ground, vertex, column):
        """Return (features (n, size), base (n,)) float32 on the device; vertex, column (n,) int32 on the host."""
        out = np.empty((len(vertex), features(ground.near.shape[1])), np.float32)
        base = np.empty(len(vertex), np.float32)
        twins.describe(*ground, vertex, column, out, base)
        return out, base

    def host(self, array):
        """Return a device array as numpy's."""
        return array

    def joined(self, parts, order):
        """Return concatenated features of several calls of describe, rows in an order (n,)."""
        out = np.empty((len(order), parts[0].shape[1]), np.float32)
        for given in regression.parts_of(parts, order):
            twins.place(*given, out)
        return out

    def sent(self, array):
        """Return a host array on the device."""
        return np.ascontiguousarray(array)

    def empty(self, shape):
        """Return a float64 array on the device."""
        return np.empty(shape)

    def remainders(self, *arrays):
        """kernels.remainders."""
        twins.remainders(*arrays)

    def gather(self, *arrays):
        """kernels.gather."""
        twins.gather(*arrays)

    def solve(self, *arrays):
        """kernels.solve."""
        twins.solve(*arrays)

    def answer(self, features, base, group, coefficients):
        """Return (n,) float64 on the host."""
        out = np.empty(len(group))
        twins.answer(features, base, group, coefficients, out)
        return out
