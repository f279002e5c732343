"""Many regressions at once: coefficients of groups of values, each shrunk to a start by a ridge.

    least sum of |y - beta' x|, or of squares, + pull' (beta - start)^2

Absolute errors use reweighted squares. A group's values are cut into pieces. Sums of pieces are computed in parallel,
on either device, and added up in a fixed order.

Coefficients of hidden values are learned level by level.
"""

from typing import NamedTuple

import numpy as np

from gpukit.imputation import scans
from gpukit.imputation.auto.judging import KINDS
from gpukit.imputation.constants import KIND_RIDGE, MOST_VALUES, REWEIGHTINGS, VALUES_PER_VERTEX, VERTEX_RIDGE

PIECE = 1024  # values summed by one block
PIECES = 4096  # whose sums are in memory at once


class Pieces(NamedTuple):
    """Pieces of groups: owner (C,) int32: the group; begin, end (C,) int64: first value, one after the last.

    first (G + 1,) int64: the first piece of each group.
    """

    owner: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    first: np.ndarray


class Sorted(NamedTuple):
    """Values sorted by group: features (n, size) on the device, targets (n,) float32.

    first (G + 1,) int64: the start of each group.
    """

    features: object
    targets: np.ndarray
    first: np.ndarray


def regress(steps, values, start, pull, group, rounds):
    """Return (G, size) float64 coefficients on the host; the start for empty groups.

    steps: the module of the device; values: Sorted, features on the device, the rest on the host; start and pull (S,
    size) float64: the start of coefficients, and its ridge, in summed squares of features; group (G,) int32: the start
    of each group; rounds: of reweighting, 0 for squares.
    """
    targets, out = steps.to_device(values.targets), start[group]
    start, pull = steps.to_device(start), steps.to_device(pull)
    for low, high in together(values.first):
        pieces = pieces_of(values.first[low : high + 1])
        if not len(pieces.owner):
            continue
        sums = Sums(steps, values.features, targets, pieces, rounds > 0)
        beta, origin = steps.to_device(out[low:high]), steps.to_device(group[low:high])
        for _ in range(max(rounds, 1)):
            sums.at(beta)
            sums.solve(start, pull, origin, beta)
        out[low:high] = steps.to_host(beta)
    return out


def parts_of(parts, order):
    """Yield (part, rows of it, their positions) of an order (n,) of the concatenated rows of parts."""
    edges = np.cumsum([0, *(len(part) for part in parts)])
    for part, low, high in zip(parts, edges, edges[1:]):
        places = np.flatnonzero((order >= low) & (order < high))
        if len(places):
            yield part, order[places] - low, places


def pieces_of(first):
    """Return the Pieces of groups that begin at first (G + 1,)."""
    counts = -(-np.diff(first) // PIECE)
    start = np.r_[0, np.cumsum(counts)]
    owner = np.repeat(np.arange(len(counts)), counts)
    begin = first[owner] + PIECE * (np.arange(start[-1]) - start[owner])
    end = np.minimum(begin + PIECE, first[owner + 1])
    return Pieces(owner.astype(np.int32), begin.astype(np.int64), end.astype(np.int64), start.astype(np.int64))


def together(first):
    """Yield (first, end) of groups with at most PIECES pieces together, or one group."""
    counts, low = -(-np.diff(first) // PIECE), 0
    while low < len(counts):
        many = np.searchsorted(np.cumsum(counts[low:]), PIECES, "right")
        high = low + max(1, int(many))
        yield low, min(high, len(counts))
        low = high


class Sums:
    """Sums of pieces of values on a device; absolute: whether they are weighted."""

    def __init__(self, steps, features, targets, pieces, absolute):
        count, size = len(pieces.owner), features.shape[1]
        self.steps, self.absolute, self.given = steps, absolute, (features, targets)
        self.owner, self.begin, self.end, self.first = (steps.to_device(part) for part in pieces)
        self.rest, self.sizes, self.weights = (steps.empty(length) for length in (features.shape[0], count, count))
        self.sums = steps.empty((count, size + 1, size + 1))

    def at(self, coefficients):
        """Compute the sums for the residuals of coefficients."""
        pieces, rest = (self.owner, self.begin, self.end), (self.rest, self.sizes)
        if self.absolute:
            self.steps.remainders(*self.given, *pieces, coefficients, *rest)
        self.steps.gather(*self.given, *pieces, self.first, *rest, self.absolute, self.sums, self.weights)

    def solve(self, start, pull, group, coefficients):
        """Solve for the coefficients."""
        self.steps.solve(self.sums, self.weights, self.begin, self.end, self.first, start, pull, group, coefficients)


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
