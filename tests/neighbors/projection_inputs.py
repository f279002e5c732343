"""The oracle's codes of random projections."""

import numpy as np

from gpukit.neighbors.formulas import coordinate
from gpukit.neighbors.run import direction_keys
from neighbors import naive


def directions(n_users, settings):
    """(n_users, n_bits): the users' coordinates."""
    keys = direction_keys(settings.seed, settings.n_bits)
    return np.array([[int(coordinate(key, user)) for key in keys] for user in range(n_users)])


def oracle_codes(made, settings):
    """(N, n_bits) of 0 and 1."""
    return naive.projections(made.users, made.items, made.values, directions(made.shape[0], settings), made.shape[1])
