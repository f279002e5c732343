"""How parameters lie in memory: integers only, shared by host code and the choice of kernels."""

from typing import NamedTuple

EXTRA = 8  # numbers of a parameter row behind the factors
BIAS, SQUARES, BASE = (
    0,
    1,
    2,
)  # which of them: b, the sum of squared errors, the baseline bias of the residuals in Eq. (1)
NO_NEIGHBOR = 255  # code of a neighbour slot that holds nobody
TOP_LEVEL = 254  # largest code of a rated neighbour; 0 is unrated
LEVELS = 256


class Layout(NamedTuple):
    """Sizes of one model on one device.

    lanes: threads that share a rating (1 on the CPU); factors, near: factors and neighbours of a lane; stride: numbers
    of a parameter row, the last EXTRA of which are no factors.
    """

    n_factors: int
    n_neighbors: int
    lanes: int
    factors: int
    near: int
    stride: int

    @property
    def slots(self):
        """Neighbour slots of an item, K rounded up to what the lanes hold."""
        return self.lanes * self.near


def cpu_layout(n_factors, n_neighbors):
    """One thread works on a rating; nothing is padded."""
    return Layout(n_factors, n_neighbors, 1, n_factors, n_neighbors, n_factors + EXTRA)


def gpu_layout(n_factors, n_neighbors):
    """As many lanes (8, 16, 32) as have a quad of factors and of neighbours each; factors start on a 128-byte line."""
    lanes = 8
    while lanes < 32 and (_wants_more(n_factors, n_neighbors, lanes) or max(n_factors, n_neighbors) > 16 * lanes):
        lanes *= 2
    factors = 4 * -(-n_factors // (4 * lanes))
    near = 4 * -(-n_neighbors // (4 * lanes))
    stride = -(-(lanes * factors + EXTRA) // 32) * 32
    return Layout(n_factors, n_neighbors, lanes, factors, near, stride)


def _wants_more(n_factors, n_neighbors, lanes):
    """Whether twice the lanes would still all have work."""
    return n_factors > 4 * lanes and (n_neighbors == 0 or n_neighbors > 4 * lanes)
