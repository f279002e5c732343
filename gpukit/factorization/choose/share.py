"""How much of what a candidate adds to damped biases counts: a number from 0 to 1, by its errors on held-out ratings.

A candidate adds f to the biases' predictions, which are wrong by e. What fits best is a = sum(e f) / sum(f^2), which
lies z of its own standard errors above 0; what is taken of it is

    a (1 - c^2 / z^2) where z > c, else 0;    c^2 = 2 log(candidates)

the garrote of one coefficient (Breiman 1995) at the universal threshold (Donoho and Johnstone 1994), which the best of
so many candidates reaches by luck. What is certain stays whole, what is luck goes, and what is small and uncertain
stays so small that it can do no harm.
"""

import numpy as np

SURE = 1.0  # c at least: one candidate alone is chosen too, by its number of epochs


def share_of(errors, than, tried):
    """The share, 0.0 to 1.0.

    errors (n,) float64: truth less predictions of the best of `tried` candidates; than (n,): of damped biases, of the
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
    """(n,) the errors of damped biases and a share of what a candidate adds."""
    return than + share * (errors - than)
