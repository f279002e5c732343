"""Least squares over ranks: each solves for its share of the rows of either side, and gives them to all others."""

import numpy as np

from gpukit.device.engine import engine
from gpukit.factorization.solvers import WHOLE


class Share:
    """See solvers.Whole. Every rank has all ratings and the rows of both sides; rows do not hang on how they are shared
    out, so a model is the same to the bit with any number of ranks."""

    def __init__(self, counts, n_factors, team, device):
        self.rank, self.spans = team.rank, [spans_of(side, n_factors, team.size) for side in counts]
        self.meeting = engine(device, __package__).Meeting(team, device)

    def own(self, side):
        """See solvers.Whole."""
        return self.spans[side][self.rank]

    def meet(self, side, table):
        """See solvers.Whole."""
        self.meeting.everywhere(table, self.spans[side])


def share_of(ratings, n_factors, team, device):
    """The Share of a rank of a Team in solving for F factors a row; solvers.WHOLE for one that is alone."""
    if team.size == 1:
        return WHOLE
    counts = (np.bincount(rows, minlength=n) for rows, n in zip((ratings.users, ratings.items), ratings.shape))
    return Share(counts, n_factors, team, device)


def spans_of(counts, n_factors, size):
    """[(first, last + 1)] a rank of rows with so many ratings, about as much work for each: a rating is F^2 / 2
    multiplications, a row's solution F^3 / 6 or, by a few steps, some F^2."""
    before = np.append(0.0, np.cumsum(np.where(counts > 0, counts + n_factors / 2.0, 0.0)))
    cuts = np.searchsorted(before, before[-1] * np.arange(1, size) / size)
    bounds = [0, *map(int, cuts), len(counts)]
    return list(zip(bounds, bounds[1:]))
