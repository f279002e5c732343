"""Settings of methods as a file has them, checked: loops and array sizes go by them."""

from gpukit.base import check_choice, check_integer, check_real
from gpukit.errors import DataError
from gpukit.imputation.auto.spectral import packed
from gpukit.imputation.centering import CENTERS
from gpukit.imputation.local.plan import MOST as MOST_SERIES
from gpukit.imputation.spectral.path import Options
from gpukit.imputation.spectral.run import Setting
from gpukit.imputation.spectral.thresholds import WEIGHTS

LARGEST = 1e6  # of numbers
MOST_ROUNDS = 1000  # of feature propagation: tens do
LARGEST_EXPONENT = 100.0
MOST_LAGS = 2  # of smoothness: a period, and seven


def setting_of(name, found, estimator):
    """The setting of a method of that name, its numbers as such; estimator: the class that knows the bounds of options.
    DataError or ParameterError for what no method has."""
    if name == "spectral":
        return packed(spectral_of(found, estimator))
    rules = RULES.get(name, {})
    if set(found) != set(rules):
        raise DataError(f"the setting of {name} in its header is {found!r:.80}.")
    return {key: rule(f"{key} of {name}", found[key]) for key, rule in rules.items()}


def spectral_of(found, estimator):
    """The spectral.run.Setting of a dict, options too."""
    if set(found) != set(Setting._fields) or not isinstance(found["options"], dict):
        raise DataError(f"{found!r:.80} in its header is no setting.")
    setting = Setting(**found)
    check_choice("weights", setting.weights, WEIGHTS)
    check_choice("center", setting.center, CENTERS)
    unlike = set(Options._fields) ^ set(setting.options)
    if unlike:
        raise DataError(f"{min(unlike)!r} of the options in its header is missing, or is none.")
    exponent = check_real("exponent", setting.exponent, 0.0)
    return setting._replace(exponent=exponent, options=estimator(**setting.options).check_options())


def level(name, value):
    """What is taken off before."""
    return check_choice(name, value, ("columns", "both"))


def whole(most):
    """A rule: a whole number from 1 on."""
    return lambda name, value: check_integer(name, value, 1, most)


def positive(most):
    """A rule: a number above 0."""
    return lambda name, value: check_real(name, value, 0.0, most, strict=True)


def not_negative(most):
    """A rule: a number from 0 on."""
    return lambda name, value: check_real(name, value, 0.0, most)


def bands(name, found):
    """Kriging's bands: [[first column, rho, nu, tau]], the first columns rising from 0."""
    if not isinstance(found, list) or not found or not all(isinstance(one, list) and len(one) == 4 for one in found):
        raise DataError(f"{name} in its header is {found!r:.80}; it is a list of four numbers each.")
    largest = LARGEST, LARGEST_EXPONENT, LARGEST
    out = [
        [check_integer(name, first, 0), *(positive(most)(name, one) for one, most in zip(numbers, largest))]
        for first, *numbers in found
    ]
    firsts = [first for first, *_ in out]
    if firsts[0] or any(one >= other for one, other in zip(firsts, firsts[1:])):
        raise DataError(f"{name} in its header begin at the columns {firsts!r:.80}, which do not rise from 0.")
    return out


def unless_none(rule):
    """A rule: what another says, or None."""
    return lambda name, value: None if value is None else rule(name, value)


def repeats(name, found):
    """Weights of smoothness, of each further lag."""
    if not isinstance(found, list) or len(found) > MOST_LAGS:
        raise DataError(f"{name} in its header is {found!r:.80}; it is a list of {MOST_LAGS} numbers or fewer.")
    return [check_real(name, one, 0.0, LARGEST) for one in found]


SMOOTH = {"tau": positive(LARGEST), "center": level}
RULES = {
    "neighbors": {"neighbors": whole(int(LARGEST)), "center": level},
    "tikhonov": SMOOTH,
    "tikhonov-normalized": SMOOTH,
    "feature-propagation": {"iterations": whole(MOST_ROUNDS), "center": level},
    "seasonal": {"lag": whole(int(LARGEST)), "memory": unless_none(not_negative(LARGEST))},
    "soft-impute": {"share": positive(1.0)},
    "kriging": {"bands": bands},
    "regularized-em": {"lags": lambda name, value: check_integer(name, value, 0, 1), "ridge": positive(1.0)},
    "smoothness": {
        "alike": lambda name, value: check_integer(name, value, 0, 1),
        **dict.fromkeys(("near", "steady", "together"), positive(LARGEST)),
        "repeats": repeats,
    },
    "local": {"neighbors": whole(MOST_SERIES), "share": unless_none(positive(1.0))},
}
