"""Learning rates by epoch, and default regularization, negatives and epochs."""

import numpy as np

from gpukit.factorization.solvers.sgd.formulas import Rates, falling_rate
from gpukit.factorization.solvers.sgd.rates import decades

# Found on a held-out click of each user of MovieLens 1M. Errors are those of probabilities, so the scale does not
# matter. Rates fall with a row's squared errors, so the number of clicks hardly matters.
RATE, ANNEALING = 0.15, 0.9  # of factors, and its factor from epoch to epoch
DECAY = 0.0075
EPOCHS, NEGATIVES = (15, 30), 4  # epochs at a million clicks or more, and for few: FilmTrust's 34 thousand
EPOCHS_A_DECADE = 1.6  # factor for each power of ten below a million
FACTOR_GAIN, BIAS_GAIN = 1.0 / 32.0, 1.0
BIAS_RATE, BIAS_DECAY = 0.05, 0.01
INFLUENCE_RATE, INFLUENCE_DECAY = 0.05, 0.002
PAPER_BETA = 0.05  # of Eq. (7)
PAPER = {"learning_rate": 0.035, "regularization": 0.005, "annealing": 1.0}
SQUARES, CURVATURE = 0.3, 0.3  # of a click and its negatives: total e^2; curvature of the loss by the user


def usual(kind, n_ratings):
    """Return {'epochs', 'learning_rate', 'regularization', 'annealing', 'n_negatives'} for n_ratings clicks."""
    steps = {"learning_rate": RATE, "regularization": DECAY, "annealing": ANNEALING}
    epochs = int(round(np.clip(EPOCHS[0] * EPOCHS_A_DECADE ** -decades(n_ratings), *EPOCHS)))
    return {"epochs": epochs, "n_negatives": NEGATIVES, **(PAPER if kind == "paper" else steps)}


def user_rates(learning_rate, counts):
    """Return the approximate step of a click for users with counts clicks, (M,), after one epoch."""
    return learning_rate * CURVATURE / np.sqrt(1.0 + FACTOR_GAIN * SQUARES * counts)


def epoch_rates(settings, epoch):
    """Return the Rates of epoch number `epoch`, from 0, for settings.Settings.

    'adaptive': AdaGrad with one sum per row; the rate of factors and influences also falls by the factor `annealing`
    per epoch. 'paper': Eq. (7) for everything.
    """
    decay = settings.regularization
    if settings.rates == "paper":
        rate = falling_rate(settings.learning_rate, PAPER_BETA, epoch)
        factor, bias, influence, gains, decays = rate, rate, rate, (0.0, 0.0), (decay, decay)
    else:
        factor, influence = settings.learning_rate * settings.annealing**epoch, INFLUENCE_RATE
        bias, gains, decays = BIAS_RATE, (FACTOR_GAIN, BIAS_GAIN), (BIAS_DECAY, INFLUENCE_DECAY)
    biases = bias if settings.biases else 0.0
    values = factor, gains[0], decay, biases, gains[1], decays[0], influence, decays[1]
    return Rates(*(np.float32(value) for value in values))
