"""Learning rates by epoch: adaptive ones (the default) and the paper's."""

import numpy as np

from gpukit.factorization.formulas import Rates, falling_rate

# Found by trial on MovieLens 1M; training is in units of the ratings' deviation, so they do not depend on the rating scale.
ADAPTIVE = {"learning_rate": 0.15, "regularization": 0.045}
PAPER = {"learning_rate": 0.035, "regularization": 0.02}
ANNEALING = 0.9  # factor of the adaptive factor rate from epoch to epoch
FACTOR_GAIN, BIAS_GAIN = 1.0 / 64.0, 1.0
BIAS_RATE, BIAS_DECAY = 0.1, 0.01
INFLUENCE_RATE, INFLUENCE_DECAY = 0.012, 0.002
PAPER_BETA, PAPER_INFLUENCE = 0.3, 0.002 / 0.035
KINDS = ("adaptive", "paper")


def defaults(kind):
    """{'learning_rate', 'regularization'} of a kind of rates."""
    return ADAPTIVE if kind == "adaptive" else PAPER


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
