"""scikit-learn's interface of an estimator, through its own classes, imported on demand.

Importing scikit-learn takes longer than many fits, so gpukit's estimators do not inherit from its BaseEstimator. Each
class has a stand-in that does, with the same methods. Class properties that scikit-learn needs come from the stand-in.
"""

import functools
import inspect

METHODS = ("fit", "predict", "decision_function", "score", "transform")
DATA = ("self", "X", "y")  # passed on without a request


def add_requests(cls):
    """Add set_fit_request and the like to a class.

    They are added for its methods that take more than X and y.
    """
    for method in METHODS:
        function = getattr(cls, method, None)
        if inspect.isfunction(function) and set(inspect.signature(function).parameters) - set(DATA):
            name = f"set_{method}_request"
            setattr(cls, name, Request(name))


class Request:
    """Descriptor of the method `name` of a stand-in on an estimator.

    It changes and returns the estimator. Without scikit-learn the attribute does not exist.
    """

    def __init__(self, name):
        self.name = name

    def __get__(self, estimator, owner):
        try:
            target = stand_in(owner) if estimator is None else standing_for(estimator)
        except ImportError:
            raise AttributeError(f"{self.name} needs scikit-learn: pip install scikit-learn.") from None
        method = getattr(target, self.name)
        if estimator is None:
            return method

        @functools.wraps(method)
        def request(**metadata):
            method(**metadata)
            estimator._metadata_request = target._metadata_request
            return estimator

        return request


@functools.cache
def stand_in(cls):
    """Return a BaseEstimator subclass with an estimator class's name and methods.

    It also has the class's default requests.
    """
    from sklearn.base import BaseEstimator

    methods = {name: getattr(cls, name) for name in METHODS if hasattr(cls, name)}
    values = [item for kind in reversed(cls.__mro__) for item in vars(kind).items()]
    first = {name: value for name, value in values if "__metadata_request__" in name}  # Python puts _Class before it
    return type(cls.__name__, (BaseEstimator,), {**methods, **first, "__module__": cls.__module__})


def standing_for(estimator):
    """Return a stand-in with the estimator's own requests."""
    instance = stand_in(type(estimator))()
    if hasattr(estimator, "_metadata_request"):
        instance._metadata_request = estimator._metadata_request
    return instance


def tags():
    """Return Tags that allow sparse X, NaN and no y."""
    from sklearn.utils import InputTags, Tags, TargetTags

    return Tags(
        estimator_type=None,
        target_tags=TargetTags(required=False),
        input_tags=InputTags(sparse=True, allow_nan=True),
    )


def regressor(tags):
    """Return the Tags, changed to those of a regressor."""
    from sklearn.utils import RegressorTags

    tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
    return tags
