"""Default regularization and epochs."""

import numpy as np

from gpukit.factorization.baseline import DAMPING  # of the biases, as in the baseline predictor
from gpukit.factorization.solvers.sgd.rates import decades

__all__ = ["DAMPING", "usual"]

# In units of the ratings' deviation; found on MovieLens 1M and on FilmTrust, with 32 thousand ratings.
DECAY = 0.06  # lambda at a million ratings
A_DECADE = 1.8  # factor for each power of ten below
DECAY_BOUNDS = (0.05, 0.3)
EPOCHS = 15


def usual(kind, n_ratings):
    """Return {'epochs', 'learning_rate', 'regularization', 'annealing'} for n_ratings ratings; the learning rate is
    None."""
    regularization = float(np.clip(DECAY * A_DECADE ** -decades(n_ratings), *DECAY_BOUNDS))
    return {"epochs": EPOCHS, "learning_rate": None, "regularization": regularization, "annealing": 1.0}
