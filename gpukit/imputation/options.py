"""Values of parameters, and the options of fit that later changes of parameters do not affect."""

from typing import Literal, NamedTuple, get_args

from gpukit.base import check_choice, check_integer, check_real
from gpukit.errors import DataError, ModelError, ParameterError

Method = Literal[
    "vertex-mean",
    "vertex-median",
    "two-way-mean",
    "interpolation",
    "seasonal",
    "trend",
    "regression",
    "kriging",
    "regularized-em",
    "smoothness",
    "local",
    "spectral",
]
Metric = Literal["absolute", "squared"]
METHODS, METRICS = get_args(Method), get_args(Metric)
REMOVED = (
    *("time-mean", "last-value", "neighbors", "tikhonov", "tikhonov-normalized", "feature-propagation", "soft-impute"),
    "akima",
)


class RemovedError(ModelError, ParameterError):
    """A parameter or a model file has a method that was removed."""


class FittedOptions(NamedTuple):
    """metric; seed of the methods; minimum and maximum of imputed values, or None."""

    metric: str
    seed: int
    minimum: float | None
    maximum: float | None


def check_method(name):
    """Return 'auto' or the name of a method; raise ParameterError for another, RemovedError for one that there was."""
    if isinstance(name, str) and name in REMOVED:
        raise RemovedError(f"the method {name!r} was removed. Use 'auto' (--method auto), and fit saved models again.")
    return check_choice("method", name, ("auto", *METHODS))


def read(entries):
    """Return the FittedOptions of a dict in a file; raise DataError or ParameterError for invalid ones."""
    if set(entries) != set(FittedOptions._fields):
        raise DataError(f"{entries!r:.80} in its header are not the options of a fitted model.")
    metric, seed = check_choice("metric", entries["metric"], METRICS), check_integer("seed", entries["seed"], 0)
    return FittedOptions(metric, seed, *bounds(entries["minimum"], entries["maximum"]))


def bounds(minimum, maximum):
    """Return (minimum, maximum) as floats or None; raise ParameterError for an empty interval."""
    most = 1e30
    low, high = (
        None if value is None else check_real(name, value, -most, most)
        for name, value in (("minimum", minimum), ("maximum", maximum))
    )
    if None not in (low, high) and low >= high:
        raise ParameterError(f"minimum must be less than maximum; got {minimum!r} and {maximum!r}.")
    return low, high
