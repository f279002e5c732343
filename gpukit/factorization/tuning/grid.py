"""Which settings are tried: those of a grid, or of one that fits how dense the ratings are."""

import itertools
import warnings
from typing import NamedTuple

import numpy as np

from gpukit.base import check_integer, check_real
from gpukit.errors import ParameterError
from gpukit.factorization.choose.rule import is_doubtful
from gpukit.factorization.settings import MOST_FACTORS, USUAL_FACTORS, USUAL_NEIGHBORS, known
from gpukit.factorization.solvers.sgd.rates import defaults
from gpukit.neighbors.estimator import MOST_NEIGHBORS

MOST_SETTINGS = 10_000
FACTORS, NEIGHBORS = (16, 64, 256), (0, 32)
STEPS = (0.4, 0.65, 1.0, 1.6, 2.5)  # regularization around what the density asks for
FINER = (1.25, 1.12)  # steps of regularization around the best of the default grid, a round each
TWICE = 2 * FACTORS[-1]  # factors that are tried where the most of them are best
SLOWER = 0.75  # the learning rate that is tried beside


class Setting(NamedTuple):
    """What is tried, under the estimators' names; learning_rate None: the rates' own."""

    n_factors: int
    n_neighbors: int
    regularization: float
    learning_rate: float | None = None


OPEN = Setting(None, None, None)  # nothing is named: the estimator chooses for itself (factorization.choose)
CHECKS = {
    "n_factors": lambda name, value: check_integer(name, value, 1, MOST_FACTORS),
    "n_neighbors": lambda name, value: check_integer(name, value, 0, MOST_NEIGHBORS),
    "regularization": lambda name, value: check_real(name, value, 0.0),
    "learning_rate": lambda name, value: check_real(name, value, 0.0, strict=True),
}


def checked(grid, spelled=None):
    """{name: [values]} of a grid, each value once; ParameterError for a name that is none of Setting's, for no values
    and for one out of bounds. spelled: {name: what a message calls it}."""
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
    """[Setting] of a checked grid, the first one nearest to an estimator's own parameters, then the simple ones first.

    What the grid does not name is the estimator's. More factors than users or items, or more neighbours than other
    items, become as many as there are, with a UserWarning. ratings: Ratings. ParameterError for too many settings.
    """
    own = own_setting(estimator, ratings)
    axes = {name: grid.get(name, [getattr(own, name)]) for name in Setting._fields}
    if np.prod([float(len(values)) for values in axes.values()]) > MOST_SETTINGS:
        raise ParameterError(f"the grid has more than {MOST_SETTINGS:,} settings; name fewer values.")
    axes.update({name: clamped(name, axes[name], ratings.shape) for name in ("n_factors", "n_neighbors")})
    settings = [Setting(*values) for values in itertools.product(*axes.values())]
    settings.sort(key=lambda one: size(one, ratings))
    first = min(settings, key=lambda one: distance(one, own))
    return [first, *(one for one in settings if one is not first)]


def clamped(name, values, shape):
    """Values of n_factors or n_neighbors, none beyond what (M, N) allow, each once."""
    most = min(shape) if name == "n_factors" else shape[1] - 1
    if max(values) > most:
        what = f"{name}={max(values)} is more than {shape[0]:,} users and {shape[1]:,} items allow"
        warnings.warn(f"{what}: {most} is tried instead.", UserWarning, stacklevel=5)
    return list(dict.fromkeys(min(value, most) for value in values))


def own_setting(estimator, ratings):
    """The Setting of an LSHMF, its defaults filled in and K fit to the items."""
    usual = defaults(estimator.rates, len(ratings))["regularization"]
    factors, neighbors = known(estimator.n_factors, USUAL_FACTORS), known(estimator.n_neighbors, USUAL_NEIGHBORS)
    factors, neighbors = min(factors, *ratings.shape), min(neighbors, ratings.shape[1] - 1)
    return Setting(factors, neighbors, known(estimator.regularization, usual), estimator.learning_rate)


def size(setting, ratings):
    """Numbers that a model has, then how free they are: what is simpler comes first, OPEN before all."""
    if setting == OPEN:
        return 0, 0.0, 0.0
    users, items = ratings.shape
    numbers = (users + items) * setting.n_factors + 2 * items * setting.n_neighbors
    return numbers, -setting.regularization, known(setting.learning_rate, 0.0)


def distance(one, other):
    """How far two settings are apart: the ratios of their numbers, K's from 1 up."""
    pairs = zip(one[:3], other[:3], strict=True)
    return sum(abs(np.log((max(a, 1e-9) + (k == 1)) / (max(b, 1e-9) + (k == 1)))) for k, (a, b) in enumerate(pairs))


def open_settings(estimator, ratings):
    """[OPEN] where it is a choice of its own: the ratings ask for it and the estimator names nothing; else []."""
    named = (estimator.n_factors, estimator.n_neighbors, estimator.regularization, estimator.learning_rate)
    choosing = estimator.rates == "adaptive" and all(value is None for value in named)
    return [OPEN] if choosing and is_doubtful(len(ratings), ratings.shape) else []


def default_grid(ratings):
    """The grid that fits Ratings: few factors for sparse ones and many for dense, no neighbours and some, and
    regularization around density_regularization."""
    users, items = ratings.shape
    middle = density_regularization(ratings)
    return {
        "n_factors": sorted({min(n, users, items) for n in FACTORS}),
        "n_neighbors": sorted({min(n, items - 1) for n in NEIGHBORS}),
        "regularization": [rounded(middle * step) for step in STEPS],
    }


def around(best, step, usual_rate, shape):
    """[Setting] beside a best one: a regularization less and more by a factor `step`, smaller steps of learning, and
    twice the factors where it has the most that have been tried; usual_rate: what a learning_rate of None means."""
    rate = known(best.learning_rate, usual_rate)
    return [
        *(best._replace(regularization=rounded(best.regularization * by)) for by in (1.0 / step, step)),
        best._replace(learning_rate=rounded(SLOWER * rate)),
        *([best._replace(n_factors=TWICE)] if 2 * best.n_factors == TWICE < min(shape) else []),
    ]


def rounded(value):
    """A value to two digits, as people write it."""
    return float(f"{value:.2g}")


def density_regularization(ratings):
    """About the regularization that ratings ask for by how many a user and an item have."""
    counts = [len(ratings) / max(1, np.unique(side).size) for side in (ratings.users, ratings.items)]
    mean = 2.0 / (1.0 / counts[0] + 1.0 / counts[1])  # harmonic: the side that has fewer decides
    return float(np.clip(0.04 * (200.0 / mean) ** 0.4, 0.03, 1.0))
