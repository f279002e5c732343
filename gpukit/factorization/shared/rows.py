"""Least squares over ranks: each rank solves for its share of the rows of either side and sends them to all."""

import numpy as np

from gpukit.device.engine import engine
from gpukit.factorization.solvers import WHOLE


class Share:
    """See solvers.Whole. Every rank has all ratings and the rows of both sides.

    A row does not depend on the partition, so models are bit-identical for any number of ranks.
    """

    def __init__(self, counts, n_factors, team, device):
        self.rank, self.spans = team.rank, [spans_of(side, n_factors, team.size) for side in counts]
        self.row_gather = engine(device, __package__).RowGather(team, device)

    def span(self, side):
        """See solvers.Whole."""
        return self.spans[side][self.rank]

    def exchange(self, side, table):
        """See solvers.Whole."""
        self.row_gather.gather(table, self.spans[side])


def share_of(ratings, n_factors, team, device):
    """Return the Share of a rank of a Team in solving for rows of F factors; solvers.WHOLE for a single process."""
    if team.size == 1:
        return WHOLE
    counts = (np.bincount(rows, minlength=n) for rows, n in zip((ratings.users, ratings.items), ratings.shape))
    return Share(counts, n_factors, team, device)


def spans_of(counts, n_factors, size):
    """Return [(first, last + 1)] of each rank's rows, with about equal computation.

    A rating costs F^2 / 2 multiplications; a solution F^3 / 6, or F^2 for each step of conjugate gradients.
    """
    before = np.append(0.0, np.cumsum(np.where(counts > 0, counts + n_factors / 2.0, 0.0)))
    cuts = np.searchsorted(before, before[-1] * np.arange(1, size) / size)
    bounds = [0, *map(int, cuts), len(counts)]
    return list(zip(bounds, bounds[1:]))
