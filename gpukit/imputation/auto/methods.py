"""Imputation methods by name."""

from gpukit.imputation import kriging, regression, regularized_em, simple, trend
from gpukit.imputation.local import method as local
from gpukit.imputation.smoothness import method as smoothness
from gpukit.imputation.spectral import method as spectral

METHODS = (
    *simple.METHODS,
    trend.METHOD,
    regression.METHOD,
    kriging.METHOD,
    regularized_em.METHOD,
    smoothness.METHOD,
    local.METHOD,
    spectral.METHOD,
)
BY_NAME = {method.name: method for method in METHODS}
NAMES = tuple(BY_NAME)
CANDIDATES = (
    *("vertex-median", "interpolation", "akima", "seasonal", "trend"),
    *("regression", "kriging", "regularized-em", "smoothness", "local", "spectral"),
)


def candidates_of(problem, name):
    """Return [Method] to try: the suitable CANDIDATES for 'auto', else the named one and the simple ones."""
    methods = map(BY_NAME.get, CANDIDATES) if name == "auto" else dict.fromkeys((*simple.METHODS, BY_NAME[name]))
    return [method for method in methods if method.suits(problem)]
