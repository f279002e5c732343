"""Default hyperparameters of every solver, and learning rates by epoch: adaptive ones (the default) and the paper's."""

import numpy as np

from gpukit.factorization.constants import RULES
from gpukit.factorization.solvers.sgd.formulas import Rates, falling_rate

# sgd. Found by trial on MovieLens 1M and on generated ratings of ten and a hundred times its size. Training is in units
# of the ratings' deviation, so the rating scale does not matter. The number of ratings does: few are soon overfitted.
PAPER = {"learning_rate": 0.035, "regularization": 0.02, "annealing": 1.0}
# sampled. Found on a held-out click of each user of MovieLens 1M. Errors are those of probabilities, so the scale does
# not matter. Rates fall with a row's squared errors, so the number of clicks hardly matters.
SAMPLED = {"learning_rate": 0.15, "regularization": 0.0075, "annealing": 0.9}
SAMPLED_PAPER = {"learning_rate": 0.035, "regularization": 0.005, "annealing": 1.0}
# hogwild. alpha of Eq. (7) and lambda, in units of the ratings' deviation; found on MovieLens 1M.
HOGWILD = {"epochs": 30, "learning_rate": 0.06, "regularization": 0.05, "annealing": 1.0}
# ials. Those of Rendle et al. 2022 for MovieLens 1M; unobserved_weight is alpha0, exponent nu.
IALS = {
    "epochs": 12,
    "learning_rate": None,
    "regularization": 0.007,
    "annealing": 1.0,
    "unobserved_weight": 0.3,
    "exponent": 1.0,
}


def decades(n_ratings):
    """Powers of ten above a million ratings, negative below."""
    return float(np.log10(max(n_ratings, 1))) - 6.0


def interpolate_log(ends, share):
    """Interpolate between two ends on a logarithmic scale, clipped to the ends."""
    return float(ends[0] * (ends[1] / ends[0]) ** min(max(share, 0.0), 1.0))


def defaults(kind, n_ratings):
    """Return {'learning_rate', 'regularization', 'annealing'} of a kind of rates for n_ratings ratings."""
    rates = (0.2, 0.3)  # learning rate at a million ratings and at a hundred million
    decay = 0.04  # regularization at a million ratings, times 0.75 for each power of ten above
    decay_bounds = (0.03, 0.06)
    annealing = (0.87, 0.8, 0.7)  # factor of the adaptive rate from epoch to epoch at a million ratings, ten, a hundred
    if kind == "paper":
        return PAPER
    beyond = decades(n_ratings)
    regularization = float(np.clip(decay * 0.75**beyond, *decay_bounds))
    return {
        "learning_rate": interpolate_log(rates, beyond / 2),
        "regularization": regularization,
        "annealing": interpolate_log(annealing[:2], beyond)
        if beyond < 1
        else interpolate_log(annealing[1:], beyond - 1),
    }


def row_rates(kind, learning_rate, counts):
    """Return the approximate learning rate of rows with counts ratings, (rows,), after one epoch."""
    if kind == "paper":
        return np.full(len(counts), learning_rate)
    return learning_rate / np.sqrt(1.0 + RULES.factor_gain * counts)


def default_epochs(n_ratings):
    """Return 13 epochs up to a million ratings, 14 at ten million, two more for each power of ten beyond."""
    return int(round(max(13.0, 12 + 2 * decades(n_ratings))))


def sgd_defaults(kind, n_ratings):
    """Return {'epochs', 'learning_rate', 'regularization', 'annealing'} of a kind of rates for n_ratings ratings."""
    return {"epochs": default_epochs(n_ratings), **defaults(kind, n_ratings)}


def epoch_rates(settings, epoch):
    """Return the Rates of epoch number `epoch`, from 0, of sgd, sampled or hogwild with settings.Settings.

    'adaptive': AdaGrad with one sum per row; the factors' rate, and with sampled the influences', also falls by the
    factor `annealing` per epoch. 'paper', and hogwild: Eq. (7) for everything, with sgd at beta 0.3 and influences at
    the ratio of Table 5. beta, influence_rate and influence_decay of the Settings replace those of either kind.
    """
    ratio = 0.002 / 0.035  # of alpha_w to alpha_u in Table 5
    bias_rate, bias_gain, bias_decay, influence_rate, influence_decay = 0.05, 1.0, 0.01, 0.02, 0.002
    sampled, decay = settings.solver == "sampled", settings.regularization
    if settings.rates == "adaptive" and settings.solver != "hogwild":
        factor, bias = settings.learning_rate * settings.annealing**epoch, bias_rate
        influence, gains = 0.05 if sampled else influence_rate, (RULES.factor_gain, bias_gain)
        influence = settings.known("influence_rate", influence)
        decays = bias_decay, influence_decay
    else:
        usual_beta = 0.3 if settings.solver == "sgd" else 0.05
        beta, alpha = settings.known("beta", usual_beta), settings.learning_rate
        factor = bias = falling_rate(alpha, beta, epoch)
        alpha = settings.known("influence_rate", alpha if sampled else alpha * ratio)
        influence, gains = falling_rate(alpha, beta, epoch), (0.0, 0.0)
        decays = decay, decay if sampled else influence_decay
    decays = decays[0], settings.known("influence_decay", decays[1])
    biases = bias if settings.biases and not settings.held else 0.0
    values = factor, gains[0], decay, biases, gains[1], decays[0], influence, decays[1]
    return Rates(*(np.float32(value) for value in values))


def sampled_defaults(kind, n_ratings):
    """Return {'epochs', 'learning_rate', 'regularization', 'annealing', 'n_negatives'} for n_ratings clicks."""
    sampled_epochs, negatives = (15, 30), 4  # epochs at a million clicks or more, and for few: FilmTrust's 34 thousand
    sampled_epochs_a_decade = 1.6  # factor for each power of ten below a million
    epochs = int(round(np.clip(sampled_epochs[0] * sampled_epochs_a_decade ** -decades(n_ratings), *sampled_epochs)))
    return {"epochs": epochs, "n_negatives": negatives, **(SAMPLED_PAPER if kind == "paper" else SAMPLED)}


def user_rates(learning_rate, counts):
    """Return the approximate step of a click for users with counts clicks, (M,), after one epoch."""
    squares, curvature = 0.3, 0.3  # of a click and its negatives: total e^2; curvature of the loss by the user
    return learning_rate * curvature / np.sqrt(1.0 + RULES.factor_gain * squares * counts)


def als_defaults(kind, n_ratings):
    """Return {'epochs', 'learning_rate', 'regularization', 'annealing'} for n_ratings ratings; the learning rate is
    None."""
    # In units of the ratings' deviation; found on MovieLens 1M and on FilmTrust, with 32 thousand ratings.
    epochs, decay, decay_bounds = 15, 0.06, (0.05, 0.3)  # decay: at a million ratings, times 1.8 per power of ten below
    regularization = float(np.clip(decay * 1.8 ** -decades(n_ratings), *decay_bounds))
    return {"epochs": epochs, "learning_rate": None, "regularization": regularization, "annealing": 1.0}


def ease_usual(kind, n_ratings):
    """Return {'epochs', 'learning_rate', 'regularization', 'annealing'} for n_ratings clicks; there are no epochs."""
    decay = 500.0  # of MovieLens 1M, at a million clicks
    regularization = float(f"{decay * 10 ** (RULES.ease_growth * decades(n_ratings)):.2g}")
    return {"epochs": 0, "learning_rate": None, "regularization": regularization, "annealing": 1.0}


USUAL = {
    "sgd": sgd_defaults,
    "sampled": sampled_defaults,
    "als": als_defaults,
    "hogwild": lambda kind, n_ratings: dict(HOGWILD),
    "ials": lambda kind, n_ratings: dict(IALS),
    "ease": ease_usual,
}
