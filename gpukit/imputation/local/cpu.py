"""The local regression on the CPU; gpu.py has the same interface."""

import numpy as np

from gpukit.imputation.local import regression, twins
from gpukit.imputation.local.plan import features


class Session:
    """See steps.Session."""

    def describe(self, ground, vertex, column):
        """See steps.Session."""
        out = np.empty((len(vertex), features(ground.near.shape[1])), np.float32)
        base = np.empty(len(vertex), np.float32)
        twins.describe(*ground, vertex, column, out, base)
        return out, base

    def host(self, array):
        """See steps.Session."""
        return array

    def joined(self, parts, order):
        """See steps.Session."""
        out = np.empty((len(order), parts[0].shape[1]), np.float32)
        for given in regression.parts_of(parts, order):
            twins.place(*given, out)
        return out

    def sent(self, array):
        """See steps.Session."""
        return np.ascontiguousarray(array)

    def empty(self, shape):
        """See steps.Session."""
        return np.empty(shape)

    def remainders(self, *arrays):
        """See steps.Session."""
        twins.remainders(*arrays)

    def gather(self, *arrays):
        """See steps.Session."""
        twins.gather(*arrays)

    def solve(self, *arrays):
        """See steps.Session."""
        twins.solve(*arrays)

    def answer(self, features, base, group, coefficients):
        """See steps.Session."""
        out = np.empty(len(group))
        twins.answer(features, base, group, coefficients, out)
        return out
