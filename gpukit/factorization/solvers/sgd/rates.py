"""Learning rates by epoch: adaptive ones (the default) and the paper's."""

import numpy as np

from gpukit.factorization.solvers.sgd.formulas import Rates, falling_rate

# Found by trial on MovieLens 1M and on generated ratings of ten and a hundred times its size. Training is in units of
# the ratings' deviation, so the rating scale does not matter. The number of ratings does: few are soon overfitted.
RATE = (0.2, 0.3)  # learning rate at a million ratings and at a hundred million
DECAY = 0.04  # regularization at a million ratings, times 0.75 for each power of ten above
DECAY_BOUNDS = (0.03, 0.06)
ANNEALING = (0.87, 0.8, 0.7)  # factor of the adaptive rate from epoch to epoch at a million ratings, ten, a hundred
PAPER = {"learning_rate": 0.035, "regularization": 0.02, "annealing": 1.0}
FACTOR_GAIN, BIAS_GAIN = 1.0 / 32.0, 1.0
BIAS_RATE, BIAS_DECAY = 0.05, 0.01
INFLUENCE_RATE, INFLUENCE_DECAY = 0.02, 0.002
PAPER_BETA, PAPER_INFLUENCE = 0.3, 0.002 / 0.035


def decades(n_ratings):
    """Powers of ten above a million ratings, negative below."""
    return float(np.log10(max(n_ratings, 1))) - 6.0


def between(ends, share):
    """Interpolate between two ends on a logarithmic scale, clipped to the ends."""
    return float(ends[0] * (ends[1] / ends[0]) ** min(max(share, 0.0), 1.0))


def defaults(kind, n_ratings):
    """Return {'learning_rate', 'regularization', 'annealing'} of a kind of rates for n_ratings ratings."""
    if kind == "paper":
        return PAPER
    beyond = decades(n_ratings)
    regularization = float(np.clip(DECAY * 0.75**beyond, *DECAY_BOUNDS))
    return {
        "learning_rate": between(RATE, beyond / 2),
        "regularization": regularization,
        "annealing": between(ANNEALING[:2], beyond) if beyond < 1 else between(ANNEALING[1:], beyond - 1),
    }


def row_rates(kind, learning_rate, counts):
    """Return the approximate learning rate of rows with counts ratings, (rows,), after one epoch."""
    if kind == "paper":
        return np.full(len(counts), learning_rate)
    return learning_rate / np.sqrt(1.0 + FACTOR_GAIN * counts)


def default_epochs(n_ratings):
    """Return 13 epochs up to a million ratings, 14 at ten million, two more for each power of ten beyond."""
    return int(round(max(13.0, 12 + 2 * decades(n_ratings))))


def usual(kind, n_ratings):
    """Return {'epochs', 'learning_rate', 'regularization', 'annealing'} of a kind of rates for n_ratings ratings."""
    return {"epochs": default_epochs(n_ratings), **defaults(kind, n_ratings)}


def epoch_rates(kind, learning_rate, regularization, biases, annealing, epoch):
    """Return the Rates of epoch number `epoch`, from 0.

    'adaptive': AdaGrad with one sum per row; the factors' rate also falls by the factor `annealing` per epoch. 'paper':
    Eq. (7) with beta 0.3 for everything, influences at the ratio of Table 5.
    """
    if kind == "adaptive":
        factor, bias = learning_rate * annealing**epoch, BIAS_RATE
        influence, gains = INFLUENCE_RATE, (FACTOR_GAIN, BIAS_GAIN)
        bias_decay = BIAS_DECAY
    else:
        factor = bias = falling_rate(learning_rate, PAPER_BETA, epoch)
        influence, gains = factor * PAPER_INFLUENCE, (0.0, 0.0)
        bias_decay = regularization
    values = (
        factor,
        gains[0],
        regularization,
        bias if biases else 0.0,
        gains[1],
        bias_decay,
        influence,
        INFLUENCE_DECAY,
    )
    return Rates(*(np.float32(value) for value in values))
