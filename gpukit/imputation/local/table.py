"""Hidden values with their features, and the coefficients that are learned from them level by level."""

from typing import NamedTuple

import numpy as np

from gpukit.imputation import scans
from gpukit.imputation.auto.gap_kinds import KINDS
from gpukit.imputation.auto.judging import error_of
from gpukit.imputation.local.plan import ENOUGH, EQUAL, FEW, OF_VERTEX, POOL, RIDGE, RIDGES, ROUNDS
from gpukit.imputation.local.regression import Sorted, regress


class Told(NamedTuple):
    """Hidden values of a fold: features (n, size) and base (n,) on the device, targets (n,) float32: what is to be
    added to base; group (n,) int64: the number of a value's kind times that of vertices, and its vertex."""

    features: object
    base: object
    targets: np.ndarray
    group: np.ndarray


class Table:
    """A device, the number of vertices, and how to learn from Tolds: the metric, and what is drawn at random by."""

    def __init__(self, session, vertices, metric, rng):
        self.session, self.vertices, self.metric, self.rng = session, vertices, metric, rng
        self.rounds = ROUNDS if metric == "absolute" else 0

    def ridges(self, folds, held):
        """(KINDS,) float64: of each kind the largest ridge whose error on a fold that nothing was learned from is no
        more than EQUAL times the least."""
        out = np.full(KINDS, RIDGE)
        if not folds:
            return out
        few, errors = Table(self.session, self.vertices, self.metric, self.rng), []
        few.rounds = min(self.rounds, FEW)
        for found in few.of_vertices(folds, few.of_kinds(folds), [np.full(KINDS, ridge) for ridge in RIDGES]):
            answers = self.session.answer(held.features, held.base, held.group.astype(np.int32), found)
            errors.append(answers - self.session.host(held.base) - held.targets)
        kinds = held.group // self.vertices
        for kind in np.flatnonzero(np.bincount(kinds, minlength=KINDS) >= ENOUGH):
            found = np.array([error_of(one[kinds == kind], self.metric) for one in errors])
            out[kind] = RIDGES[int(np.flatnonzero(found <= EQUAL * found.min())[-1])]
        return out

    def coefficients(self, folds, ridges):
        """(KINDS vertices, size): of all values, then of kinds, then of kinds and vertices."""
        return self.of_vertices(folds, self.of_kinds(folds), [ridges])[0]

    def of_kinds(self, folds):
        """(coefficients, sizes) (KINDS, size) of kinds, drawn to those of all values."""
        group = np.concatenate([fold.group for fold in folds])
        zero, one = np.zeros((1, folds[0].features.shape[1])), np.zeros(1, np.int32)
        every = self.pooled(folds, np.zeros(len(group), np.int64), one, (zero, None), RIDGES[0])
        return self.pooled(folds, group // self.vertices, np.zeros(KINDS, np.int32), every, RIDGE)

    def pooled(self, folds, group, origin, start, ridge):
        """(coefficients, mean squares of features) (G, size) of groups; of those without values their start's.

        origin (G,) int32: which row of start, such a pair, each group starts from; its sizes None: the groups' own.
        """
        values = self.sorted(folds, group, len(origin), POOL)
        coefficients, sizes = start
        own = mean_squares(self.session.host(values.features), values.first, sizes, origin)
        pull = ridge * (own if sizes is None else sizes)
        return regress(self.session, values, coefficients, [pull], origin, self.rounds)[0], own

    def of_vertices(self, folds, pooled, ridges):
        """[(KINDS vertices, size)]: coefficients of kinds and vertices, drawn to those of kinds, for each of ridges.

        ridges [(KINDS,)]: how many values of the size that is usual there a start is worth. So the coefficient of a
        feature that was nearly 0 in all values of a group stays what it was, whatever comes.
        """
        coefficients, sizes = pooled
        origin = np.repeat(np.arange(KINDS, dtype=np.int32), self.vertices)
        values = self.sorted(folds, np.concatenate([fold.group for fold in folds]), len(origin), OF_VERTEX)
        return regress(
            self.session, values, coefficients, [one[:, None] * sizes for one in ridges], origin, self.rounds
        )

    def sorted(self, folds, group, count, most):
        """Sorted of folds' values by their groups (n,), of so many groups, at random `most` of each."""
        order, first = grouped(group, count, most, self.rng.permutation(len(group)))
        targets = np.concatenate([fold.targets for fold in folds])[order]
        return Sorted(self.session.joined([fold.features for fold in folds], order), targets, first)


def mean_squares(x, first, sizes, origin):
    """(G, size) float64: of features (n, size), group after group, their mean squares; of empty ones those of start."""
    out = np.zeros((len(first) - 1, x.shape[1])) if sizes is None else sizes[origin]
    for g in np.flatnonzero(np.diff(first)):
        out[g] = np.square(x[first[g] : first[g + 1]]).mean(axis=0, dtype=np.float64)
    return out


def grouped(group, count, most, order):
    """(order, first (count + 1,)): members of groups (n,) int64, group after group, and where each begins; of each the
    first `most` of an order (n,)."""
    out, first = np.empty(len(group), np.int64), np.empty(count + 1, np.int64)
    return out[: scans.by_group(group, order, most, first, out)], first
