"""Many regressions at once: coefficients of groups of values, each drawn to a start by a ridge.

    least sum of |y - beta' x|, or of squares, + pull' (beta - start)^2

Absolute errors by reweighted squares. A group's values are cut in pieces, whose sums are taken side by side, on either
device, and added up in one order.
"""

from typing import NamedTuple

import numpy as np

from gpukit.imputation.local.plan import PIECE, PIECES


class Pieces(NamedTuple):
    """owner (C,) int32, begin, end (C,) int64: of each piece its group, its first value and the one after its last;
    first (G + 1,) int64: the first piece of each group."""

    owner: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    first: np.ndarray


def regress(session, features, targets, first, start, pull, group, rounds):
    """(G, size) float64 coefficients on the host, of groups of values; their start where a group has none.

    session: steps.Session; features (n, size) float32 on its device, the rest on the host: targets (n,) float32, first
    (G + 1,) int64: where each group begins; start and pull (S, size) float64: what coefficients are drawn to, and
    the ridge of each, in squares of its feature added up; group (G,) int32: the start of each; rounds: of
    reweighting, 0 for squares.
    """
    targets, out = session.sent(targets), np.empty((len(group), features.shape[1]))
    for low, high in together(first):
        pieces = pieces_of(first[low : high + 1])
        out[low:high] = some(session, features, targets, pieces, start, pull, group[low:high], rounds)
    return out


def parts_of(parts, order):
    """Yield (part, rows of it, their places) of an order (n,) of the rows of parts, one after another."""
    edges = np.cumsum([0, *(len(part) for part in parts)])
    for part, low, high in zip(parts, edges, edges[1:]):
        places = np.flatnonzero((order >= low) & (order < high))
        if len(places):
            yield part, order[places] - low, places


def pieces_of(first):
    """The Pieces of groups that begin at first (G + 1,)."""
    counts = -(-np.diff(first) // PIECE)
    start = np.r_[0, np.cumsum(counts)]
    owner = np.repeat(np.arange(len(counts)), counts)
    begin = first[owner] + PIECE * (np.arange(start[-1]) - start[owner])
    end = np.minimum(begin + PIECE, first[owner + 1])
    return Pieces(owner.astype(np.int32), begin.astype(np.int64), end.astype(np.int64), start.astype(np.int64))


def together(first):
    """Yield (first, end) of groups that have PIECES pieces together, or are one."""
    counts, low = -(-np.diff(first) // PIECE), 0
    while low < len(counts):
        many = np.searchsorted(np.cumsum(counts[low:]), PIECES, "right")
        high = low + max(1, int(many))
        yield low, min(high, len(counts))
        low = high


def some(session, features, targets, pieces, start, pull, group, rounds):
    """(G, size) coefficients of a few groups."""
    size, count = features.shape[1], len(pieces.owner)
    if not count:
        return start[group]
    owner, begin, end, first = (session.sent(part) for part in pieces)
    rest, sizes, weights = session.empty(features.shape[0]), session.empty(count), session.empty(count)
    sums, beta = session.empty((count, size + 1, size + 1)), session.sent(start[group])
    drawn = session.sent(start), session.sent(pull), session.sent(group)
    for _ in range(max(rounds, 1)):
        if rounds:
            session.remainders(features, targets, owner, begin, end, beta, rest, sizes)
        session.gather(features, targets, owner, begin, end, first, rest, sizes, rounds > 0, sums, weights)
        session.solve(sums, weights, begin, end, first, *drawn, beta)
    return session.host(beta)
