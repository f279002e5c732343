"""`Estimator`: scikit-learn's conventions without needing scikit-learn; where it is installed, its own classes."""

import inspect
import sys

from gpukit.base import scikit
from gpukit.errors import NotFittedError, ParameterError


class Estimator:
    """Parameters by name, the fitted check, model files. `__init__` of a subclass only stores its arguments.

    A subclass names the attribute that fit leaves in `_fitted_by`, attributes that a pickle leaves out in `_transient`
    (what lies on a device), and says what a file keeps in `_packed` and `_unpack`. Methods with arguments beyond X and
    y get scikit-learn's set_fit_request and the like; a class attribute __metadata_request__fit = {"qid": True} says
    what is asked for from the start, as in scikit-learn.
    """

    _fitted_by = None
    _transient = ()

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        scikit.add_requests(cls)

    @classmethod
    def _parameter_names(cls):
        signature = inspect.signature(cls.__init__)
        return sorted(name for name in signature.parameters if name != "self")

    def get_params(self, deep=True):
        """The constructor's arguments as a dict. deep is accepted for scikit-learn and changes nothing."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **params):
        """Set constructor arguments for the next fit; what is fitted stays as it is, only its work moves with `device`.

        Raises ParameterError for a name the constructor does not have.
        """
        names = self._parameter_names()
        for name in params:
            if name not in names:
                raise ParameterError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(names)}.")
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self):
        defaults = inspect.signature(type(self).__init__).parameters
        changed = {
            k: v for k, v in self.get_params().items() if v is not defaults[k].default and v != defaults[k].default
        }
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in changed.items())})"

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name not in self._transient}

    def save(self, path):
        """Write the fitted model to a file (gpukit.persist: no pickle, written aside and renamed).

        Raises NotFittedError, and DataError when path cannot be written.
        """
        from gpukit import persist

        self._check_fitted()
        persist.save_model(path, self, *self._packed())

    @classmethod
    def load(cls, path):
        """The fitted model in a file; device is 'auto' again, whatever it was trained on.

        Raises DataError (no file) or ModelError (not such a model, damaged, another format).
        """
        from gpukit import persist

        model, facts, arrays = persist.read_model(path, cls)
        with persist.damage_told(path):
            model._unpack(facts, arrays)
        return model

    def _packed(self):
        """(facts that JSON holds, {name: array}): what a file keeps of the fitted model besides its parameters."""
        raise NotImplementedError

    def _unpack(self, facts, arrays):
        """Take what _packed gave; arrays is a persist.Arrays."""
        raise NotImplementedError

    def _check_fitted(self):
        if not hasattr(self, self._fitted_by):
            name = type(self).__name__
            raise not_fitted()(f"This {name} is not fitted yet: call fit first, or load a saved model.")

    def __sklearn_is_fitted__(self):
        return hasattr(self, self._fitted_by)

    def __sklearn_tags__(self):
        """What scikit-learn asks about an estimator: no y, sparse matrices and NaN (not rated) welcome."""
        return scikit.tags()

    def get_metadata_routing(self):
        """scikit-learn's MetadataRequest: which arguments of which method meta-estimators pass on."""
        return scikit.routing(self)

    def _repr_mimebundle_(self, **kwargs):
        return scikit.mime_bundle(self)


def not_fitted():
    """The error of an estimator that is not fitted: NotFittedError, scikit-learn's as well where that is in use."""
    theirs = sys.modules.get("sklearn.exceptions")
    return type("NotFittedError", (NotFittedError, theirs.NotFittedError), {}) if theirs else NotFittedError
