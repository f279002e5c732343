"""Real ratings that defaults are judged on: FilmTrust, and MovieLens 1M thinned to few ratings or few users."""

from pathlib import Path

import numpy as np

from gpukit.errors import DataError
from gpukit.ratings import Ratings

FILMTRUST, MOVIELENS = "filmtrust/ratings.txt", "ml-1m/ratings.dat"
SHARES, USERS = (0.01, 0.05, 0.2), 500
SEEDS_FILMTRUST, SEEDS = 5, 2


def read(folder, name):
    """The Ratings of a file in the folder of real data."""
    from gpukit.ratings import read_ratings

    if folder is None:
        raise DataError(f"real ratings are needed: set GPUKIT_DATA to the folder that holds {name}.")
    return read_ratings(Path(folder) / name)


def sets(folder, scale=1.0):
    """Yield (name, Ratings, number of seeds). scale: share of their ratings, for trials of the benchmark itself."""
    yield "FilmTrust", thinned(read(folder, FILMTRUST), scale), SEEDS_FILMTRUST
    movielens = read(folder, MOVIELENS)
    for share in SHARES:
        yield f"MovieLens 1M, {share:.0%} of the ratings", thinned(movielens, share * scale), SEEDS
    chosen = np.random.default_rng(0).choice(movielens.shape[0], USERS, replace=False)
    few = of_rows(movielens, np.isin(movielens.users, chosen))
    yield f"MovieLens 1M, {USERS} of the users", thinned(few, scale), SEEDS


def thinned(ratings, share):
    """The Ratings of which default_rng(0) draws a number below the share."""
    if share == 1.0:
        return ratings
    return of_rows(ratings, np.random.default_rng(0).random(len(ratings)) < share)


def of_rows(ratings, kept):
    """The Ratings at a mask, with the users and items that are left."""
    users, by_user = np.unique(ratings.users[kept], return_inverse=True)
    items, by_item = np.unique(ratings.items[kept], return_inverse=True)
    rows = by_user.astype(np.int32), by_item.astype(np.int32)
    return Ratings(*rows, ratings.values[kept], ratings.user_ids[users], ratings.item_ids[items])
