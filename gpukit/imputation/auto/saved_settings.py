"""Validate settings of methods read from a file, before loops and array sizes use them."""

from functools import partial

from gpukit.base import check_choice, check_integer, check_real
from gpukit.errors import DataError
from gpukit.imputation.centering import CENTERS
from gpukit.imputation.constants import MOST_SERIES
from gpukit.imputation.spectral.method import packed
from gpukit.imputation.spectral.path import Options
from gpukit.imputation.spectral.run import Setting
from gpukit.imputation.spectral.thresholds import WEIGHTS

LARGEST = 1e6  # of numbers


def setting_of(name, found, estimator):
    """Return the validated setting of a method; DataError or ParameterError if it is invalid.

    estimator: class that knows the bounds of the options.
    """
    if name == "spectral":
        return packed(spectral_of(found, estimator))
    rules = RULES.get(name, {})
    if name == "local":
        found = {key: value for key, value in found.items() if key != "share"}  # of version 0.1: a low-rank predictor
    if set(found) != set(rules):
        raise DataError(f"the setting of {name} in its header is {found!r:.80}.")
    return {key: rule(f"{key} of {name}", found[key]) for key, rule in rules.items()}


def spectral_of(found, estimator):
    """Return the spectral.run.Setting of a dict, with options."""
    if set(found) != set(Setting._fields) or not isinstance(found["options"], dict):
        raise DataError(f"{found!r:.80} in its header is no setting.")
    setting = Setting(**found)
    check_choice("weights", setting.weights, WEIGHTS)
    check_choice("center", setting.center, CENTERS)
    unlike = set(Options._fields) ^ set(setting.options)
    if unlike:
        raise DataError(f"{min(unlike)!r} of the options in its header is missing or unknown.")
    exponent = check_real("exponent", setting.exponent, 0.0)
    return setting._replace(exponent=exponent, options=estimator(**setting.options).check_options())


def positive(name, value, most=LARGEST):
    """Return a checked number above 0."""
    return check_real(name, value, 0.0, most, strict=True)


def check_bands(name, found):
    """Check the bands of kriging: [[first column, rho, nu, tau]], first columns increasing from 0."""
    if not isinstance(found, list) or not found or not all(isinstance(one, list) and len(one) == 4 for one in found):
        raise DataError(f"{name} in its header is {found!r:.80}; it is a list of four numbers each.")
    largest = LARGEST, 100.0, LARGEST
    out = [
        [check_integer(name, first, 0), *(positive(name, *pair) for pair in zip(numbers, largest))]
        for first, *numbers in found
    ]
    firsts = [first for first, *_ in out]
    if firsts[0] or any(one >= other for one, other in zip(firsts, firsts[1:])):
        raise DataError(f"{name} in its header begin at the columns {firsts!r:.80}, which do not rise from 0.")
    return out


def allow_none(rule):
    """Return a check that also accepts None."""
    return lambda name, value: None if value is None else rule(name, value)


def check_repeats(name, found):
    """Check the weights of smoothness, one per further lag."""
    if not isinstance(found, list) or len(found) > 2:  # a period, and seven
        raise DataError(f"{name} in its header is {found!r:.80}; it is a list of 2 numbers or fewer.")
    return [check_real(name, one, 0.0, LARGEST) for one in found]


is_used = partial(check_integer, low=0, high=1)
at_least_0 = partial(check_real, low=0.0, high=LARGEST)
RULES = {
    "seasonal": {"lag": partial(check_integer, low=1, high=int(LARGEST)), "memory": allow_none(at_least_0)},
    "trend": {"level": allow_none(at_least_0), "slope": allow_none(at_least_0), "fade": allow_none(positive)},
    "kriging": {"bands": check_bands},
    "regularized-em": {"lags": is_used, "ridge": partial(positive, most=1.0)},
    "smoothness": {
        "alike": is_used,
        **dict.fromkeys(("near", "steady", "together"), positive),
        "repeats": check_repeats,
    },
    "local": {"neighbors": partial(check_integer, low=1, high=MOST_SERIES)},
}
