"""What of fit's parameters a fitted model goes by, whatever its parameters are set to later."""

from typing import NamedTuple

from gpukit.base import check_choice, check_integer, check_real
from gpukit.errors import DataError, ParameterError
from gpukit.imputation.names import METRICS

LARGEST = 1e30  # of bounds


class Asked(NamedTuple):
    """metric; seed, of what methods hide by themselves; minimum and maximum of what is filled in, or None."""

    metric: str
    seed: int
    minimum: float | None
    maximum: float | None


def asked_of(settings):
    """The Asked of estimator.Settings."""
    return Asked(*(getattr(settings, name) for name in Asked._fields))


def read(found):
    """The Asked of a dict in a file; DataError or ParameterError for what is none."""
    if set(found) != set(Asked._fields):
        raise DataError(f"{found!r:.80} in its header is not what was asked for.")
    metric, seed = check_choice("metric", found["metric"], METRICS), check_integer("seed", found["seed"], 0)
    return Asked(metric, seed, *bounds(found["minimum"], found["maximum"]))


def bounds(minimum, maximum):
    """(minimum, maximum) as floats or None; ParameterError where they leave nothing between them."""
    low, high = (
        None if value is None else check_real(name, value, -LARGEST, LARGEST)
        for name, value in (("minimum", minimum), ("maximum", maximum))
    )
    if None not in (low, high) and low >= high:
        raise ParameterError(f"minimum must be less than maximum; got {minimum!r} and {maximum!r}.")
    return low, high
