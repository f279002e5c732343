"""Regularization and epochs where none are given."""

from gpukit.factorization.baseline import DAMPING  # of the biases, as the bias-only predictor's

__all__ = ["DAMPING", "usual"]

DECAY = 0.06  # of rows with many ratings and few alike, in units of the ratings' deviation; found on MovieLens 1M
EPOCHS = 15


def usual(kind, n_ratings):
    """{'epochs', 'learning_rate', 'regularization', 'annealing'} for so many ratings; there are no steps to size."""
    return {"epochs": EPOCHS, "learning_rate": None, "regularization": DECAY, "annealing": 1.0}
