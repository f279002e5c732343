"""Default learning rate, regularization and epochs."""

RATE = 0.06  # alpha of Eq. (7) and lambda, in units of the ratings' deviation; found on MovieLens 1M
DECAY = 0.05
BETA = 0.05  # of Eq. (7)
EPOCHS = 30


def usual(kind, n_ratings):
    """Return {'epochs', 'learning_rate', 'regularization', 'annealing'} for n_ratings ratings."""
    return {"epochs": EPOCHS, "learning_rate": RATE, "regularization": DECAY, "annealing": 1.0}
