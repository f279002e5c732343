"""Default parameters: those of Rendle et al. 2022 for MovieLens 1M."""

EPOCHS, REGULARIZATION = 12, 0.007
UNOBSERVED, EXPONENT = 0.3, 1.0  # alpha0, nu


def usual(kind, n_ratings):
    """Return the default hyperparameters for n_ratings clicks; the learning rate is None.

    The keys are 'epochs', 'learning_rate', 'regularization', 'annealing', 'unobserved_weight' and 'exponent'.
    """
    return {
        "epochs": EPOCHS,
        "learning_rate": None,
        "regularization": REGULARIZATION,
        "annealing": 1.0,
        "unobserved_weight": UNOBSERVED,
        "exponent": EXPONENT,
    }
