"""Item neighbourhoods, added to the scores of the factors.

In the terms of Eq. (1): w_jk is the damped cosine of the users of j and k, for the k most similar to j, so that a score
is

    (1 - blend) u_i v_j + blend |R|^-1/2 sum over the clicked neighbours R of w_jk

The kernels of Eq. (1) compute it. Nothing is trained.
"""

import numpy as np

from gpukit.neighbors.formulas import in_list
from gpukit.neighbors.item_knn import click_neighbors
from gpukit.scheduler import by_block


def blended(state, prepared, plan):
    """Return the State with the neighbourhood of settings.Settings, if any; prepared: prepared.PreparedClicks."""
    most_neighbors = 50
    if not plan.blend:
        return state
    nearest = alike(prepared.orders(plan), min(most_neighbors, plan.n_neighbors), prepared.device)
    return joined(state, *nearest, plan.blend)


def joined(state, neighbors, likeness, share):
    """Return the State with a share of a neighbourhood's score.

    Factors have 1 - share of theirs. neighbors (N, K) int32, likeness (N, K) float32.
    """
    influence = np.zeros((len(neighbors), 2, neighbors.shape[1]), np.float32)
    influence[:, 0] = share * likeness
    factors = state.user_factors * np.float32(1.0 - share)
    return state._replace(user_factors=factors, neighbors=neighbors, influence=influence)


def alike(orders, k, device):
    """Return (neighbors (N, k) int32, likeness (N, k) float32) of items.

    The most similar are first; likeness is 0 for items without a common user. orders: of the clicks, on the Device.
    """
    neighbors, likeness = click_neighbors(orders, k, device)
    fill_gaps(neighbors)
    return neighbors, likeness


@by_block(lambda neighbors: len(neighbors))
def fill_gaps(start, stop, neighbors):
    """Complete each row of neighbors (N, k), -1 after the last, by the first items that it lacks."""
    for row in range(start, stop):
        item = np.int32(0)
        for slot in range(neighbors.shape[1]):
            if neighbors[row, slot] < 0:
                while in_list(item, neighbors, row, slot):
                    item += np.int32(1)
                neighbors[row, slot] = item
