"""scikit-learn's side of an estimator: its own classes do the work, imported when scikit-learn asks, never before.

Importing scikit-learn takes longer than many a fit, so gpukit's estimators do not inherit from its BaseEstimator. Each
class has a stand-in that does, with the same methods: what scikit-learn reads off a class is read off the stand-in.
"""

import functools
import inspect
import sys

METHODS = ("fit", "predict", "decision_function", "score", "transform")
DATA = ("self", "X", "y")  # what is passed on without a request


def add_requests(cls):
    """Give a class set_fit_request and the like for its methods that take more than X and y."""
    for method in METHODS:
        function = getattr(cls, method, None)
        if inspect.isfunction(function) and set(inspect.signature(function).parameters) - set(DATA):
            name = f"set_{method}_request"
            setattr(cls, name, Request(name))


class Request:
    """The method `name` of a stand-in, as one of the estimator: it changes and returns the estimator.

    Without scikit-learn an estimator has no such method.
    """

    def __init__(self, name):
        self.name = name

    def __get__(self, estimator, owner):
        try:
            there = stand_in(owner) if estimator is None else standing_for(estimator)
        except ImportError:
            raise AttributeError(f"{self.name} needs scikit-learn: pip install scikit-learn.") from None
        theirs = getattr(there, self.name)
        if estimator is None:
            return theirs

        @functools.wraps(theirs)
        def request(**asked):
            theirs(**asked)
            estimator._metadata_request = there._metadata_request
            return estimator

        return request


@functools.cache
def stand_in(cls):
    """A scikit-learn BaseEstimator with the name, the methods and the first requests of an estimator's class."""
    from sklearn.base import BaseEstimator

    own = {name: getattr(cls, name) for name in METHODS if hasattr(cls, name)}
    first = {name: value for kind in reversed(cls.__mro__) for name, value in vars(kind).items() if is_request(name)}
    return type(cls.__name__, (BaseEstimator,), {**own, **first, "__module__": cls.__module__})


def is_request(name):
    """Whether a class attribute says what a method asks for from the start; Python puts _Class before the name."""
    return "__metadata_request__" in name


def standing_for(estimator):
    """A stand-in with the estimator's own requests."""
    there = stand_in(type(estimator))()
    if hasattr(estimator, "_metadata_request"):
        there._metadata_request = estimator._metadata_request
    return there


def routing(estimator):
    """The MetadataRequest of an estimator."""
    return standing_for(estimator).get_metadata_routing()


def tags():
    """Tags of an estimator that needs no y and takes sparse matrices and NaN."""
    from sklearn.utils import InputTags, Tags, TargetTags

    return Tags(
        estimator_type=None,
        target_tags=TargetTags(required=False),
        input_tags=InputTags(sparse=True, allow_nan=True),
    )


def regressor(tags):
    """The Tags, of an estimator that predicts a number a row."""
    from sklearn.utils import RegressorTags

    tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
    return tags


def mime_bundle(estimator):
    """What a notebook shows: the estimator as text, and as scikit-learn's diagram where scikit-learn is in use."""
    shown = {"text/plain": repr(estimator)}
    if sys.modules.get("sklearn"):
        from sklearn import get_config
        from sklearn.utils import estimator_html_repr

        if get_config()["display"] == "diagram":
            shown["text/html"] = estimator_html_repr(estimator)
    return shown
