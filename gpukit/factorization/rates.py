"""Learning rates by epoch: adaptive ones (the default) and the paper's."""

import numpy as np

from gpukit.factorization.formulas import Rates, falling_rate

# Found by trial; training is in units of the ratings' deviation, so they do not depend on the rating scale.
REGULARIZATION = 0.045
PAPER = {"learning_rate": 0.035, "regularization": 0.02}
ANNEALING = 0.9  # factor of the adaptive factor rate from epoch to epoch
SLOWEST, FASTEST = 0.15, 0.3  # learning rates of a million ratings and of ten million
FACTOR_GAIN, BIAS_GAIN = 1.0 / 64.0, 1.0
BIAS_RATE, BIAS_DECAY = 0.1, 0.01
INFLUENCE_RATE, INFLUENCE_DECAY = 0.012, 0.002
PAPER_BETA, PAPER_INFLUENCE = 0.3, 0.002 / 0.035
KINDS = ("adaptive", "paper")


def defaults(kind, n_ratings):
    """{'learning_rate', 'regularization'} of a kind of rates for so many ratings.

    Few ratings are soon learned by heart, so a million gets half the rate of ten million (0.15 on MovieLens 1M).
    """
    if kind == "paper":
        return PAPER
    decades = np.clip(np.log10(max(n_ratings, 1)) - 6.0, 0.0, 1.0)
    return {"learning_rate": float(SLOWEST * (FASTEST / SLOWEST) ** decades), "regularization": REGULARIZATION}


def default_epochs(n_ratings):
    """12 epochs up to a million ratings, four more for each power of ten: more ratings take longer to be learned by heart."""
    return int(round(12 + 4 * max(0.0, np.log10(max(n_ratings, 1)) - 6.0)))


def epoch_rates(kind, learning_rate, regularization, biases, epoch):
    """The Rates of epoch number `epoch`, from 0.

    'adaptive': AdaGrad with one sum a row, the factors' rate falling by ANNEALING an epoch as well. 'paper': Eq. (7) with beta
    0.3 for everything, influences at the ratio of Table 5.
    """
    if kind == "adaptive":
        factor, bias = learning_rate * ANNEALING**epoch, BIAS_RATE
        influence, gains = INFLUENCE_RATE, (FACTOR_GAIN, BIAS_GAIN)
        bias_decay = BIAS_DECAY
    else:
        factor = bias = falling_rate(learning_rate, PAPER_BETA, epoch)
        influence, gains = factor * PAPER_INFLUENCE, (0.0, 0.0)
        bias_decay = regularization
    values = (factor, gains[0], regularization, bias if biases else 0.0, gains[1], bias_decay, influence, INFLUENCE_DECAY)
    return Rates(*(np.float32(value) for value in values))
