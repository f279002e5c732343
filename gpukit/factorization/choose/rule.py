"""When settings are chosen, which options are open, and the candidates for them.

The density is the number of ratings per user and item. A large number of ratings alone is not enough.
"""

from gpukit.factorization.constants import RULES

BIASES = "damped biases"  # name of the predictor in chosen_
OPEN = ("n_factors", "n_neighbors", "n_epochs", "regularization")  # parameters whose None means: choose


def density(n_ratings, shape):
    """Return the ratings per user or per item, whichever is lower.

    Parameters of that side are learned from the fewest ratings.
    """
    return n_ratings / max(1, *shape)


def is_sparse(n_ratings, shape):
    """Return True if the default settings may overfit."""
    return density(n_ratings, shape) < RULES.ratings_a_row


def is_doubtful(n_ratings, shape):
    """Return True if the default settings may be unsuitable, by numbers alone."""
    return n_ratings <= RULES.few_ratings or is_sparse(n_ratings, shape)


def left_open(estimator):
    """Return the names in OPEN that are None.

    Empty for solvers and rates that have defaults of their own.
    """
    if estimator.rates != "adaptive" or estimator.solver not in ("auto", "sgd"):
        return set()
    return {name for name in OPEN if getattr(estimator, name, 0) is None}


def wants_factors(estimator):
    """Return True if the user set an option that damped biases ignore."""
    named = (*OPEN, "learning_rate")
    return any(getattr(estimator, name, None) is not None for name in named) or not getattr(estimator, "biases", True)


def decays(settings, free):
    """Yield settings with each value of regularization in RULES.decays.

    If it is not free, yield the settings alone.
    """
    for decay in RULES.decays if "regularization" in free else (settings.regularization,):
        yield settings._replace(regularization=decay)


def sizes(settings, free, shape):
    """Yield settings with other numbers of factors and neighbours."""
    factors = [min(count, *shape) for count in RULES.choice_factors] if "n_factors" in free else [settings.n_factors]
    neighbors = (settings.n_neighbors, 0) if "n_neighbors" in free else (settings.n_neighbors,)
    for pair in dict.fromkeys((f, k) for f in factors for k in neighbors):
        if pair != (settings.n_factors, settings.n_neighbors):
            yield settings._replace(n_factors=pair[0], n_neighbors=pair[1])
