"""Hidden values with their features, and the coefficients that are learned from them level by level."""

from typing import NamedTuple

import numpy as np

from gpukit.imputation.auto.judging import error_of
from gpukit.imputation.auto.places import KINDS
from gpukit.imputation.local.plan import ENOUGH, EQUAL, FEW, OF_VERTEX, POOL, RIDGE, RIDGES, ROUNDS
from gpukit.imputation.local.regression import regress


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
        few = Table(self.session, self.vertices, self.metric, self.rng)
        few.rounds = min(self.rounds, FEW)
        pooled, errors = few.of_kinds(folds), []
        for ridge in RIDGES:
            found = few.of_vertices(folds, pooled, np.full(KINDS, ridge))
            answers = self.session.answer(held.features, held.base, held.group.astype(np.int32), found)
            errors.append(answers - self.session.host(held.base) - held.targets)
        kinds = held.group // self.vertices
        for kind in np.flatnonzero(np.bincount(kinds, minlength=KINDS) >= ENOUGH):
            found = np.array([error_of(one[kinds == kind], self.metric) for one in errors])
            out[kind] = RIDGES[int(np.flatnonzero(found <= EQUAL * found.min())[-1])]
        return out

    def coefficients(self, folds, ridges):
        """(KINDS vertices, size): of all values, then of kinds, then of kinds and vertices."""
        return self.of_vertices(folds, self.of_kinds(folds), ridges)

    def of_kinds(self, folds):
        """(coefficients, sizes) (KINDS, size) of kinds, drawn to those of all values."""
        group = np.concatenate([fold.group for fold in folds])
        zero, one = np.zeros((1, folds[0].features.shape[1])), np.zeros(1, np.int32)
        every = self.level(folds, np.zeros(len(group), np.int64), one, (zero, None), np.full(1, RIDGES[0]))
        return self.level(folds, group // self.vertices, np.zeros(KINDS, np.int32), every, np.full(1, RIDGE))

    def of_vertices(self, folds, pooled, ridges):
        """(KINDS vertices, size): coefficients of kinds and vertices, drawn to those of kinds."""
        group = np.concatenate([fold.group for fold in folds])
        origin = np.repeat(np.arange(KINDS, dtype=np.int32), self.vertices)
        return self.level(folds, group, origin, pooled, ridges)[0]

    def level(self, folds, group, origin, start, ridges):
        """(coefficients, mean squares of features) (G, size) of groups; of those without values their start's.

        origin (G,) int32: which row of start, such a pair, each group starts from; its sizes None: the groups' own.
        ridges (S,): how many values of the size that is usual there a start is worth. So the coefficient of a feature
        that was nearly 0 in all values of a group stays what it was, whatever comes.
        """
        shuffled = self.rng.permutation(len(group))
        order = shuffled[np.argsort(group[shuffled], kind="stable")]
        order = order[ranks(group[order]) < (POOL if len(origin) <= KINDS else OF_VERTEX)]
        first = np.searchsorted(group[order], np.arange(len(origin) + 1))
        x = self.session.joined([fold.features for fold in folds], order)
        coefficients, sizes = start
        own = mean_squares(self.session.host(x), first, sizes, origin) if len(origin) <= KINDS else None
        pull = ridges[:, None] * (own if sizes is None else sizes)
        targets = np.concatenate([fold.targets for fold in folds])[order]
        return regress(self.session, x, targets, first, coefficients, pull, origin, self.rounds), own


def mean_squares(x, first, sizes, origin):
    """(G, size) float64: of features (n, size), group after group, their mean squares; of empty ones those of start."""
    out = np.zeros((len(first) - 1, x.shape[1])) if sizes is None else sizes[origin]
    for g in np.flatnonzero(np.diff(first)):
        out[g] = np.square(x[first[g] : first[g + 1]]).mean(axis=0, dtype=np.float64)
    return out


def ranks(groups):
    """The number of each of sorted groups' members within its group."""
    first = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]]) if len(groups) else np.zeros(0, int)
    return np.arange(len(groups)) - np.repeat(first, np.diff(np.r_[first, len(groups)]))
