"""Settings to try: a user's grid, or a default one by the ratings' density."""

import itertools
import warnings
from typing import NamedTuple

import numpy as np

from gpukit.base import check_integer, check_real
from gpukit.errors import ParameterError
from gpukit.factorization.choose.rule import is_doubtful
from gpukit.factorization.settings import MOST_FACTORS, USUAL_FACTORS, USUAL_NEIGHBORS, known
from gpukit.factorization.solvers.rates import defaults
from gpukit.neighbors.estimator import MOST_NEIGHBORS

FACTORS, NEIGHBORS = (16, 64, 256), (0, 32)
FINER = (1.25, 1.12)  # steps of regularization around the best of the default grid, one per round
TWICE = 2 * FACTORS[-1]  # factors to try if the largest number is best


class Setting(NamedTuple):
    """Parameters to try, by the estimators' names; learning_rate None: default of the rates."""

    n_factors: int
    n_neighbors: int
    regularization: float
    learning_rate: float | None = None


OPEN = Setting(None, None, None)  # the estimator chooses its settings (factorization.choose)
CHECKS = {
    "n_factors": lambda name, value: check_integer(name, value, 1, MOST_FACTORS),
    "n_neighbors": lambda name, value: check_integer(name, value, 0, MOST_NEIGHBORS),
    "regularization": lambda name, value: check_real(name, value, 0.0),
    "learning_rate": lambda name, value: check_real(name, value, 0.0, strict=True),
}


def checked(grid, spelled=None):
    """Return {name: [values]} of a grid, each value once.

    spelled: {name: its name in messages}. Raises ParameterError for an unknown name, for no values and for one out of
    bounds.
    """
    if not isinstance(grid, dict) or not grid:
        raise ParameterError(f"grid must be a dict of {', '.join(CHECKS)}, each with a list of values; got {grid!r}.")
    found = {}
    for name, values in grid.items():
        if name not in CHECKS:
            raise ParameterError(f"grid has no {name!r}; what can be tuned is {', '.join(CHECKS)}.")
        values = list(values) if np.iterable(values) and not isinstance(values, str) else [values]
        called = (spelled or {}).get(name, name)
        if not values:
            raise ParameterError(f"grid: {called} has no values. Give at least one, or leave it out.")
        found[name] = list(dict.fromkeys(CHECKS[name](called, value) for value in values))
    return found


def settings_of(grid, estimator, ratings):
    """Return the list of Settings of a checked grid.

    The first is nearest to the estimator's own parameters; the others are sorted by size. Parameters that are not in
    the grid are the estimator's. n_factors is limited by the numbers of users and items, n_neighbors by the number of
    other items, with a UserWarning. ratings: Ratings. Raises ParameterError for too many settings.
    """
    most_settings = 10_000
    own = own_setting(estimator, ratings)
    axes = {name: grid.get(name, [getattr(own, name)]) for name in Setting._fields}
    if np.prod([float(len(values)) for values in axes.values()]) > most_settings:
        raise ParameterError(f"the grid has more than {most_settings:,} settings; name fewer values.")
    axes.update({name: clamped(name, axes[name], ratings.shape) for name in ("n_factors", "n_neighbors")})
    settings = [Setting(*values) for values in itertools.product(*axes.values())]
    settings.sort(key=lambda one: size(one, ratings))
    first = min(settings, key=lambda one: distance(one, own))
    return [first, *(one for one in settings if one is not first)]


def clamped(name, values, shape):
    """Return distinct values of n_factors or n_neighbors, limited by shape (M, N)."""
    most = min(shape) if name == "n_factors" else shape[1] - 1
    if max(values) > most:
        what = f"{name}={max(values)} is more than {shape[0]:,} users and {shape[1]:,} items allow"
        warnings.warn(f"{what}: {most} is tried instead.", UserWarning, stacklevel=5)
    return list(dict.fromkeys(min(value, most) for value in values))


def own_setting(estimator, ratings):
    """Return the Setting of an LSHMF with defaults.

    Factors and neighbours are limited by the ratings' shape.
    """
    usual = defaults(estimator.rates, len(ratings))["regularization"]
    factors, neighbors = known(estimator.n_factors, USUAL_FACTORS), known(estimator.n_neighbors, USUAL_NEIGHBORS)
    factors, neighbors = min(factors, *ratings.shape), min(neighbors, ratings.shape[1] - 1)
    return Setting(factors, neighbors, known(estimator.regularization, usual), estimator.learning_rate)


def size(setting, ratings):
    """Return the sort key of a setting: its number of parameters, then its freedom.

    Simple settings come first, OPEN before all.
    """
    if setting == OPEN:
        return 0, 0.0, 0.0
    users, items = ratings.shape
    numbers = (users + items) * setting.n_factors + 2 * items * setting.n_neighbors
    return numbers, -setting.regularization, known(setting.learning_rate, 0.0)


def distance(one, other):
    """Return the distance of two settings, the sum of the log ratios.

    K is counted from 1.
    """
    pairs = zip(one[:3], other[:3], strict=True)
    return sum(abs(np.log((max(a, 1e-9) + (k == 1)) / (max(b, 1e-9) + (k == 1)))) for k, (a, b) in enumerate(pairs))


def open_settings(estimator, ratings):
    """Return [OPEN] if the estimator would choose settings itself, else [].

    It would if it sets nothing and the ratings need it.
    """
    named = (estimator.n_factors, estimator.n_neighbors, estimator.regularization, estimator.learning_rate)
    choosing = estimator.rates == "adaptive" and all(value is None for value in named)
    return [OPEN] if choosing and is_doubtful(len(ratings), ratings.shape) else []


def default_grid(ratings):
    """Return the grid that fits the density of Ratings.

    It has several numbers of factors, zero and some neighbours, and regularization around density_regularization.
    """
    steps = (0.4, 0.65, 1.0, 1.6, 2.5)  # regularization, relative to density_regularization
    users, items = ratings.shape
    middle = density_regularization(ratings)
    return {
        "n_factors": sorted({min(n, users, items) for n in FACTORS}),
        "n_neighbors": sorted({min(n, items - 1) for n in NEIGHBORS}),
        "regularization": [rounded(middle * step) for step in steps],
    }


def around(best, step, usual_rate, shape):
    """Return the list of Settings around a best one.

    They have a regularization divided and multiplied by `step`, a smaller learning rate, and twice the factors if it
    has the most that were tried. usual_rate: the learning rate for None.
    """
    slower = 0.75  # factor of an additional learning rate to try
    rate = known(best.learning_rate, usual_rate)
    return [
        *(best._replace(regularization=rounded(best.regularization * by)) for by in (1.0 / step, step)),
        best._replace(learning_rate=rounded(slower * rate)),
        *([best._replace(n_factors=TWICE)] if 2 * best.n_factors == TWICE < min(shape) else []),
    ]


def rounded(value):
    """Return a value with two significant digits."""
    return float(f"{value:.2g}")


def density_regularization(ratings):
    """Return an approximate regularization by the ratings per user and item."""
    counts = [len(ratings) / max(1, np.unique(side).size) for side in (ratings.users, ratings.items)]
    mean = 2.0 / (1.0 / counts[0] + 1.0 / counts[1])  # harmonic: the side with fewer decides
    return float(np.clip(0.04 * (200.0 / mean) ** 0.4, 0.03, 1.0))
