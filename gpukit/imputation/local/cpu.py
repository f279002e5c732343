"""The local regression on the CPU; gpu.py has the same."""

import numpy as np

from gpukit.imputation.local import twins
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
        return np.concatenate(parts)[order]

    def regress(self, features, targets, first, start, pull, group, rounds):
        """See steps.Session."""
        out, weights = np.empty((len(group), features.shape[1])), np.empty(len(targets))
        twins.regress(features, targets, first, start, pull, group, rounds, out, weights)
        return out

    def answer(self, features, base, group, coefficients):
        """See steps.Session."""
        out = np.empty(len(group))
        twins.answer(features, base, group, coefficients, out)
        return out
