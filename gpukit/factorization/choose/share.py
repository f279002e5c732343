"""Shrinkage of the best candidate by its errors on held-out ratings.

A candidate adds f to the predictions of the biases, whose errors are e. The least-squares coefficient is a = sum(e f) /
sum(f^2), which is z standard errors above 0. The share, 0 to 1, is

    a (1 - c^2 / z^2) where z > c, else 0;    c^2 = 2 log(candidates)

This is the garrote of one coefficient (Breiman 1995) at the universal threshold (Donoho and Johnstone 1994), which the
best of that many candidates reaches by chance. A clear improvement is kept nearly whole, chance results are dropped,
and small uncertain improvements are shrunk until they are harmless.
"""

import numpy as np

SURE = 1.0  # minimum of c: the number of epochs of a single candidate is chosen too


def share_of(errors, than, tried):
    """Return the share, 0.0 to 1.0.

    errors (n,) float64: truth minus predictions of the best of `tried` candidates; than (n,): of damped biases, for the
    same ratings.
    """
    added = than - errors
    total = added @ added
    if not total > 0:
        return 0.0
    best = (than @ added) / total
    spread = np.linalg.norm(added * (than - best * added)) / total
    luck = max(SURE, 2.0 * np.log(tried)) * spread**2
    if not best > np.sqrt(luck):
        return 0.0
    return float(min(1.0, best * (1.0 - luck / best**2)))


def blended(errors, than, share):
    """Return the errors (n,) of damped biases and a candidate's shrunk addition."""
    return than + share * (errors - than)
