"""What every estimator shares: parameters by name, as scikit-learn expects them, without needing scikit-learn."""

import inspect
import sys

from gpukit.errors import NotFittedError, ParameterError


class Estimator:
    """get_params, set_params, repr and the fitted check. `__init__` of a subclass only stores its arguments."""

    @classmethod
    def _parameter_names(cls):
        signature = inspect.signature(cls.__init__)
        return sorted(name for name in signature.parameters if name != "self")

    def get_params(self, deep=True):
        """The constructor's arguments as a dict. deep is accepted for scikit-learn and changes nothing."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **params):
        """Set constructor arguments; raises ParameterError for a name the constructor does not have."""
        names = self._parameter_names()
        for name, value in params.items():
            if name not in names:
                raise ParameterError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(names)}.")
            setattr(self, name, value)
        return self

    def __repr__(self):
        defaults = inspect.signature(type(self).__init__).parameters
        changed = {
            k: v for k, v in self.get_params().items() if v is not defaults[k].default and v != defaults[k].default
        }
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in changed.items())})"

    def __sklearn_tags__(self):
        """What scikit-learn asks about an estimator: no y, sparse matrices and NaN (not rated) welcome."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(sparse=True, allow_nan=True),
        )

    def _check_fitted(self, attribute):
        if not hasattr(self, attribute):
            name = type(self).__name__
            raise not_fitted()(f"This {name} is not fitted yet: call fit first, or load a saved model.")


def not_fitted():
    """The error of an estimator that is not fitted: NotFittedError, scikit-learn's as well where that is in use."""
    theirs = sys.modules.get("sklearn.exceptions")
    return type("NotFittedError", (NotFittedError, theirs.NotFittedError), {}) if theirs else NotFittedError


def check_integer(name, value, low, high=None):
    """value as an int in [low, high], or ParameterError naming the parameter, the bounds and the value."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < low or (high is not None and value > high):
        bounds = f"at least {low}" if high is None else f"between {low} and {high}"
        raise ParameterError(f"{name} must be an integer, {bounds}; got {value!r}.")
    return int(value)


def check_real(name, value, low, high=None, strict=False):
    """value as a float in [low, high] (low excluded when strict), or ParameterError naming the bounds and the value."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if (
        not (number > low if strict else number >= low)
        or (high is not None and not number <= high)
        or number == float("inf")
    ):
        bounds = f"{'more than' if strict else 'at least'} {low}" + ("" if high is None else f" and at most {high}")
        raise ParameterError(f"{name} must be a finite number, {bounds}; got {value!r}.")
    return number


def check_choice(name, value, choices):
    """value, or ParameterError listing the choices."""
    if value not in choices:
        raise ParameterError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}.")
    return value
