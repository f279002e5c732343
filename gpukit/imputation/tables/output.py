"""Container of completed tables, by scikit-learn's convention set_output."""

import sys
from typing import Literal, get_args

import numpy as np

from gpukit.base import check_choice
from gpukit.base.arrays import ensure_host
from gpukit.errors import DataError
from gpukit.io.arrays import as_frame, is_frame, is_series

Output = Literal["default", "pandas"]


def check_output(transform):
    """Return the value of set_output; raise ParameterError for another library."""
    return check_choice("transform", transform, get_args(Output))


def output_of(estimator):
    """Return the value of set_output; without it that of sklearn.set_config, if scikit-learn is loaded."""
    known = getattr(estimator, "_sklearn_output_config", None)  # the name that sklearn.base.clone copies
    sklearn = sys.modules.get("sklearn")
    if known is None and sklearn:
        return check_output(sklearn.get_config()["transform_output"])
    return known["transform"] if known else "default"


def in_container(model, completed):
    """Return a completed table as the DataFrame that set_output requests.

    Results for data frames are data frames already. Raises DataError for tensors with the vertices first.
    """
    if output_of(model) == "default":
        return completed
    result = as_frame(completed)
    if is_frame(result) or is_series(result):
        return result
    if not model._is_table:
        raise DataError(
            f"transform='pandas' is for tables of times by sensors; this tensor has the vertices first, shape "
            f"{completed.shape}. Pass a DataFrame, or call set_output(transform='default')."
        )
    import pandas

    return pandas.DataFrame(ensure_host(completed).reshape(len(completed), -1), columns=feature_names(model))


def feature_names(model, names=None):
    """Return the names (N,) of the columns of a completed table, as objects.

    names: those passed, otherwise those of fit's frame, or x0, x1, ... Raises DataError for another number of names.
    """
    count = model._basis.count
    if names is None:
        names = getattr(model.completed_, "columns", model.vertices_)
        return np.asarray([f"x{index}" for index in range(count)] if names is None else names, object)
    if len(names) != count:
        raise DataError(f"input_features has {len(names):,} names; the model was fitted on {count:,} columns.")
    return np.asarray(names, object)
