"""`Estimator`: scikit-learn's conventions without requiring scikit-learn.

If it is installed, its own classes are used.
"""

from __future__ import annotations

import inspect
import sys
from html import escape
from typing import TYPE_CHECKING, Any, Self

from gpukit.base import scikit
from gpukit.base.checks import format_value
from gpukit.errors import NotFittedError, ParameterError


def format_parameter(value):
    """Return a value as text; an array by its shape."""
    if getattr(value, "shape", ()):
        return f"{type(value).__name__} of shape {tuple(value.shape)}"
    return f"{value:.6g}" if isinstance(value, float) else format_value(value)


if TYPE_CHECKING:
    from collections.abc import Callable

    from gpukit.typing import Path


class Estimator:
    """Base class: parameters by name, fitted check, model files.

    `__init__` of a subclass only stores its arguments. A subclass names the attribute that fit sets in `_fitted_by`,
    attributes excluded from pickles (device state) in `_transient` and the main fitted attributes, for notebooks, in
    `_facts`, and implements `_packed` and `_unpack` for files.
    Methods with arguments beyond X and y get scikit-learn's set_fit_request and the like. A class attribute
    __metadata_request__fit = {"qid": True} sets the default requests, as in scikit-learn.
    """

    set_fit_request: Callable[..., Self]
    set_predict_request: Callable[..., Self]
    set_score_request: Callable[..., Self]

    _fitted_by: str
    _transient: tuple[str, ...] = ()
    _facts: tuple[str, ...] = ()

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        scikit.add_requests(cls)

    @classmethod
    def _parameter_names(cls):
        signature = inspect.signature(cls.__init__)
        return sorted(name for name in signature.parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's arguments.

        Parameters
        ----------
        deep : bool
            Ignored: no parameter is an estimator.

        Returns
        -------
        dict

        Examples
        --------
        >>> from gpukit import SimLSH
        >>> SimLSH(p=2).get_params()["p"]
        2
        """
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **params: Any) -> Self:
        """Set constructor arguments for the next fit.

        Parameters
        ----------
        **params
            The fitted state does not depend on them; only `device` moves its computation.

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            A name is unknown.

        Examples
        --------
        >>> from gpukit import SimLSH
        >>> SimLSH().set_params(p=2)
        SimLSH(p=2)
        """
        names = self._parameter_names()
        for name in params:
            if name not in names:
                raise ParameterError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(names)}.")
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def _changed_params(self):
        """Return the parameters that differ from their defaults."""
        defaults = inspect.signature(type(self).__init__).parameters
        pairs = ((name, value, defaults[name].default) for name, value in self.get_params().items())
        # Arrays are compared by type: no default is one.
        return {name: value for name, value, default in pairs if type(value) is not type(default) or value != default}

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self._changed_params().items())})"

    def _repr_html_(self) -> str:
        """Return a small table for notebooks, without scripts or styles.

        It has the parameters that differ from their defaults, and facts of the fitted model.
        """
        rows, is_fitted = self._changed_params(), self.__sklearn_is_fitted__()
        rows |= {name: getattr(self, name) for name in self._facts if is_fitted and hasattr(self, name)}
        cells = (f"<tr><th>{escape(key)}</th><td>{escape(format_parameter(rows[key]))}</td></tr>" for key in rows)
        heading = f"<b>{escape(type(self).__name__)}</b>, {'fitted' if is_fitted else 'not fitted'}"
        return f"<div>{heading}<table>{''.join(cells)}</table></div>"

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name not in self._transient}

    def save(self, path: Path) -> None:
        """Write the fitted model to a file, atomically and without pickle.

        Parameters
        ----------
        path : str or Path
            gpukit.persist describes the format.

        Raises
        ------
        NotFittedError
        DataError
            The file cannot be written.

        Examples
        --------
        >>> from gpukit import SimLSH, synth_ratings
        >>> model = SimLSH(n_neighbors=4).fit(synth_ratings("ml-10m", scale=0.01))
        >>> model.save("similar.gpukit")
        """
        from gpukit import persist

        self._check_fitted()
        persist.save_model(path, self, *self._packed())

    @classmethod
    def load(cls, path: Path) -> Self:
        """Return the fitted model in a file; its device is 'auto'.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        Estimator
            Of this class.

        Raises
        ------
        DataError
            The file does not exist.
        ModelError
            The file contains another model, is damaged or has another format.

        Examples
        --------
        >>> from gpukit import SimLSH, synth_ratings
        >>> model = SimLSH(n_neighbors=4).fit(synth_ratings("ml-10m", scale=0.01))
        >>> model.save("similar.gpukit")
        >>> SimLSH.load("similar.gpukit").neighbors_.shape[1]
        4
        """
        from gpukit import persist

        model, facts, arrays = persist.read_model(path, cls)
        with persist.report_damage(path):
            model._unpack(facts, arrays)
        return model

    def _packed(self):
        """Return (JSON-serializable facts, {name: array}) of the fitted model.

        They are stored in addition to the parameters.
        """
        raise NotImplementedError

    def _unpack(self, facts, arrays):
        """Restore the state of _packed; arrays is a persist.Arrays."""
        raise NotImplementedError

    def _check_fitted(self):
        if not hasattr(self, self._fitted_by):
            name = type(self).__name__
            raise not_fitted_error()(f"This {name} is not fitted yet: call fit first, or load a saved model.")

    def __sklearn_is_fitted__(self):
        return hasattr(self, self._fitted_by)

    def __sklearn_tags__(self):
        """Return scikit-learn's tags: no y, sparse matrices and NaN (not rated) allowed."""
        return scikit.tags()

    def get_metadata_routing(self) -> Any:
        """Return scikit-learn's description of the metadata that methods request.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRequest

        Examples
        --------
        >>> from gpukit import RankSVM
        >>> "qid" in str(RankSVM().get_metadata_routing())
        True
        """
        return scikit.standing_for(self).get_metadata_routing()


def not_fitted_error():
    """Return NotFittedError, derived from scikit-learn's if that is loaded."""
    exceptions = sys.modules.get("sklearn.exceptions")
    return type("NotFittedError", (NotFittedError, exceptions.NotFittedError), {}) if exceptions else NotFittedError
