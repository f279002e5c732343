"""Learning rate, regularization and epochs where none are given."""

RATE = 0.06  # alpha of Eq. (7) and lambda, in units of the ratings' deviation; found on MovieLens 1M
DECAY = 0.05
BETA = 0.05  # of Eq. (7)
EPOCHS = 30


def usual(kind, n_ratings):
    """{'epochs', 'learning_rate', 'regularization', 'annealing'} for so many ratings."""
    return {"epochs": EPOCHS, "learning_rate": RATE, "regularization": DECAY, "annealing": 1.0}
