"""Item neighbourhoods, added to the scores of the factors.

In the terms of Eq. (1): w_jk is the damped cosine of the users of j and k, for the k most similar to j, so that a score
is

    (1 - blend) u_i v_j + blend |R|^-1/2 sum over the clicked neighbours R of w_jk

The kernels of Eq. (1) compute it. Nothing is trained.
"""

import numpy as np

from gpukit.evaluation.lists.baselines import similarities

MOST_NEIGHBORS = 50


def blended(state, clicks, plan):
    """Return the State with the neighbourhood of settings.Settings, if any."""
    if not plan.blend:
        return state
    neighbors, likeness = alike(clicks, min(MOST_NEIGHBORS, plan.n_neighbors))
    return joined(state, neighbors, likeness, plan.blend)


def joined(state, neighbors, likeness, share):
    """Return the State with a share of a neighbourhood's score.

    Factors have 1 - share of theirs. neighbors (N, K) int32, likeness (N, K) float32.
    """
    influence = np.zeros((len(neighbors), 2, neighbors.shape[1]), np.float32)
    influence[:, 0] = share * likeness
    factors = state.user_factors * np.float32(1.0 - share)
    return state._replace(user_factors=factors, neighbors=neighbors, influence=influence)


def alike(clicks, k):
    """Return (neighbors (N, k) int32, likeness (N, k) float32) of items.

    The most similar are first; likeness is 0 for items without a common user.
    """
    from scipy import sparse

    shape = clicks.shape
    table = sparse.csr_matrix((np.ones(len(clicks), np.float32), (clicks.users, clicks.items)), shape)
    found = similarities(table).tocsc()
    neighbors, likeness = np.zeros((shape[1], k), np.int32), np.zeros((shape[1], k), np.float32)
    for item in range(shape[1]):
        mine = slice(*found.indptr[item : item + 2])
        best = np.argsort(-found.data[mine], kind="stable")[:k]
        neighbors[item, : len(best)] = found.indices[mine][best]
        likeness[item, : len(best)] = found.data[mine][best]
        neighbors[item, len(best) :] = np.setdiff1d(np.arange(k + 1), neighbors[item, : len(best)])[: k - len(best)]
    return neighbors, likeness
