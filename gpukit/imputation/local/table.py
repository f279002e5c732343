"""Hidden values with their features, and coefficients learned from them level by level."""

from typing import NamedTuple

import numpy as np

from gpukit.imputation import scans
from gpukit.imputation.auto.gap_kinds import KINDS
from gpukit.imputation.constants import KIND_RIDGE, MOST_VALUES, REWEIGHTINGS, VALUES_PER_VERTEX, VERTEX_RIDGE
from gpukit.imputation.local.regression import Sorted, regress


class HiddenValues(NamedTuple):
    """Hidden values of a fold: features (n, size) and base (n,) on the device, targets (n,) float32, group (n,) int64.

    targets: the values less base; group: the value's kind times the number of vertices, plus its vertex.
    """

    features: object
    base: object
    targets: np.ndarray
    group: np.ndarray


class Table:
    """Learning from HiddenValues: steps: the module of the device, number of vertices, metric, random generator."""

    def __init__(self, steps, vertices, metric, rng):
        self.steps, self.vertices, self.metric, self.rng = steps, vertices, metric, rng
        self.rounds = REWEIGHTINGS if metric == "absolute" else 0

    def coefficients(self, folds):
        """Return (KINDS vertices, size): of all values, then of kinds, then of kinds and vertices."""
        coefficients, sizes = self.of_kinds(folds)
        origin = np.repeat(np.arange(KINDS, dtype=np.int32), self.vertices)
        values = self.sorted(folds, np.concatenate([fold.group for fold in folds]), len(origin), VALUES_PER_VERTEX)
        return regress(self.steps, values, coefficients, VERTEX_RIDGE * sizes, origin, self.rounds)

    def of_kinds(self, folds):
        """Return (coefficients, sizes) (KINDS, size) of kinds, shrunk to those of all values."""
        group = np.concatenate([fold.group for fold in folds])
        zero, origin = np.zeros((1, folds[0].features.shape[1])), np.zeros(1, np.int32)
        every = self.pooled(folds, np.zeros(len(group), np.int64), origin, (zero, None), KIND_RIDGE)
        return self.pooled(folds, group // self.vertices, np.zeros(KINDS, np.int32), every, KIND_RIDGE)

    def pooled(self, folds, group, origin, start, ridge):
        """Return (coefficients, mean squares of features) (G, size) of groups; their start's for empty groups.

        origin (G,) int32: the row of start, such a pair, of each group; its sizes None: the groups' own. ridge: weight
        of the start, in values of usual size, so that the coefficient of a feature that is nearly 0 in all values of a
        group stays at its start.
        """
        values = self.sorted(folds, group, len(origin), MOST_VALUES)
        coefficients, sizes = start
        own = mean_squares(self.steps.to_host(values.features), values.first, sizes, origin)
        pull = ridge * (own if sizes is None else sizes)
        return regress(self.steps, values, coefficients, pull, origin, self.rounds), own

    def sorted(self, folds, group, count, most):
        """Return Sorted of folds' values by their groups (n,), of `count` groups, at random `most` of each."""
        order, first = grouped(group, count, most, self.rng.permutation(len(group)))
        targets = np.concatenate([fold.targets for fold in folds])[order]
        return Sorted(self.steps.join([fold.features for fold in folds], order), targets, first)


def mean_squares(x, first, sizes, origin):
    """Return (G, size) float64: mean squares of sorted features (n, size); those of start for empty groups."""
    out = np.zeros((len(first) - 1, x.shape[1])) if sizes is None else sizes[origin]
    for g in np.flatnonzero(np.diff(first)):
        out[g] = np.square(x[first[g] : first[g + 1]]).mean(axis=0, dtype=np.float64)
    return out


def grouped(group, count, most, order):
    """Return (order, first (count + 1,)): members sorted by group, and the start of each group.

    group (n,) int64; at most the first `most` members of each group in an order (n,).
    """
    out, first = np.empty(len(group), np.int64), np.empty(count + 1, np.int64)
    return out[: scans.by_group(group, order, most, first, out)], first
