"""What is tried: first how hard factors are held small, then, with the best of that, how many of them and whether
neighbours help."""

DECAYS = (0.06, 0.04, 0.09)
EPOCHS, PATIENCE = 20, 2
LONGEST = 50  # epochs of a candidate where more are named
FACTORS = (32, 128)
MANY = 1_000_000  # ratings from which candidates are given up that lag behind, so that all cost about a few trainings
WORTH = 0.001  # share of the best one's RMSE that a candidate must promise to be better by, to go on then


def decays(settings, free):
    """Yield the settings that differ in regularization, or these alone where it is named."""
    for decay in DECAYS if "regularization" in free else (settings.regularization,):
        yield settings._replace(regularization=decay)


def sizes(settings, free, shape):
    """Yield the settings that differ in factors and neighbours from those that have been tried."""
    factors = [min(count, *shape) for count in FACTORS] if "n_factors" in free else [settings.n_factors]
    neighbors = (settings.n_neighbors, 0) if "n_neighbors" in free else (settings.n_neighbors,)
    for pair in dict.fromkeys((f, k) for f in factors for k in neighbors):
        if pair != (settings.n_factors, settings.n_neighbors):
            yield settings._replace(n_factors=pair[0], n_neighbors=pair[1])
