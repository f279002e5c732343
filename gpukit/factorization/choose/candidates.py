"""Candidates: regularization first, then the numbers of factors and neighbours."""

DECAYS = (0.06, 0.04, 0.09)
EPOCHS, PATIENCE = 20, 2
LONGEST = 50  # maximum epochs of a candidate if the user sets more
FACTORS = (32, 128)
SAMPLE = 1_000_000  # ratings on which candidates are tried, at most
WORTH = 0.001  # relative improvement of RMSE that a candidate must be able to reach, or it is stopped


def decays(settings, free):
    """Yield settings with each value of regularization in DECAYS.

    If it is not free, yield the settings alone.
    """
    for decay in DECAYS if "regularization" in free else (settings.regularization,):
        yield settings._replace(regularization=decay)


def sizes(settings, free, shape):
    """Yield settings with other numbers of factors and neighbours."""
    factors = [min(count, *shape) for count in FACTORS] if "n_factors" in free else [settings.n_factors]
    neighbors = (settings.n_neighbors, 0) if "n_neighbors" in free else (settings.n_neighbors,)
    for pair in dict.fromkeys((f, k) for f in factors for k in neighbors):
        if pair != (settings.n_factors, settings.n_neighbors):
            yield settings._replace(n_factors=pair[0], n_neighbors=pair[1])
