"""Containers of completed tables: as the input, or a DataFrame by set_output."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pandas
import pytest

from gpukit import GraphImputer, load_model
from gpukit.errors import DataError, NotFittedError, ParameterError

T, N = 40, 3
NAMES = [f"x{at}" for at in range(N)]


def table():
    """Return smooth series (T, N) with missing values."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(T, N)).cumsum(axis=0)
    values[rng.random(values.shape) < 0.2] = np.nan
    return values


def imputer():
    return GraphImputer(method="interpolation", device="cpu")


def assert_frame(result, expected, names=NAMES):
    assert type(result) is pandas.DataFrame and list(result.columns) == names
    np.testing.assert_array_equal(result.to_numpy(), expected)


def test_arrays_become_frames():
    X = table()
    expected = imputer().fit_transform(X)
    assert type(expected) is np.ndarray
    model = imputer().set_output(transform="pandas")
    assert_frame(model.fit_transform(X), expected)
    assert_frame(model.transform(X[::-1].copy()), imputer().fit(X).transform(X[::-1].copy()))
    assert type(model.completed_) is np.ndarray
    assert model.set_output(transform=None) is model
    assert_frame(model.transform(X), expected)
    assert type(model.set_output(transform="default").transform(X)) is np.ndarray


def test_a_series_becomes_one_column():
    X = table()[:, 0]
    model = imputer().set_output(transform="pandas")
    assert_frame(model.fit_transform(X), imputer().fit_transform(X)[:, None], ["x0"])


@pytest.mark.parametrize("kind", ["default", "pandas"])
def test_frames_stay_frames(kind):
    frame = pandas.DataFrame(table(), columns=["c", "a", "b"], index=pandas.date_range("2024", periods=T, freq="h"))
    model = imputer().set_output(transform=kind)
    for result in (model.fit_transform(frame), model.transform(frame)):
        pandas.testing.assert_frame_equal(result, imputer().fit_transform(frame))
    assert model.get_feature_names_out().tolist() == ["c", "a", "b"]


def test_tensors_with_the_vertices_first_have_no_frame():
    X = table().T
    model = imputer().set_output(transform="pandas")
    with pytest.raises(DataError, match=r"vertices first, shape \(3, 40\).*set_output\(transform='default'\)"):
        model.fit_transform(np.ones((N, N)) - np.eye(N), X)
    assert model.set_output(transform="default").transform(X).shape == (N, T)


def test_other_libraries_are_refused():
    with pytest.raises(ParameterError, match="transform must be one of 'default', 'pandas'; got 'polars'"):
        imputer().set_output(transform="polars")


def test_names_of_columns():
    model = imputer()
    with pytest.raises(NotFittedError):
        model.get_feature_names_out()
    names = model.fit(table()).get_feature_names_out()
    assert names.tolist() == NAMES and names.dtype == object
    assert model.get_feature_names_out(["u", "v", "w"]).tolist() == ["u", "v", "w"]
    with pytest.raises(DataError, match="input_features has 2 names; the model was fitted on 3 columns"):
        model.get_feature_names_out(["u", "v"])


def test_models_in_files_and_copies(tmp_path):
    model = imputer().set_output(transform="pandas").fit(table())
    for copied in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert_frame(copied.transform(table()), model.completed_)
    model.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")  # a file has the parameters, and set_output is none
    assert type(loaded.transform(table())) is np.ndarray
    assert_frame(loaded.set_output(transform="pandas").transform(table()), model.completed_)


def test_scikit_learn():
    sklearn = pytest.importorskip("sklearn")
    from sklearn.base import clone
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X = table()
    expected = imputer().fit_transform(X)
    assert_frame(clone(imputer().set_output(transform="pandas")).fit_transform(X), expected)
    with sklearn.config_context(transform_output="pandas"):
        assert_frame(imputer().fit_transform(X), expected)
        assert type(imputer().set_output(transform="default").fit_transform(X)) is np.ndarray
    with sklearn.config_context(transform_output="polars"), pytest.raises(ParameterError, match="'polars'"):
        imputer().fit_transform(X)
    pipeline = make_pipeline(imputer(), StandardScaler()).set_output(transform="pandas")
    assert list(pipeline.fit_transform(X).columns) == NAMES == list(pipeline.get_feature_names_out())
    y = np.arange(T)
    for target in (y, y[:, None], pandas.Series(y), list(map(str, y))):  # which a Pipeline passes on
        np.testing.assert_array_equal(imputer().fit_transform(X, target), expected)
        np.testing.assert_array_equal(imputer().fit_transform(pandas.DataFrame(X), target), expected)
    with pytest.raises(DataError, match="must be square"):
        imputer().fit(X, y[1:])


WITHOUT = """
import sys
sys.modules["sklearn"] = None  # as if it were not installed
import numpy as np
from gpukit import GraphImputer
X = np.arange(24.0).reshape(12, 2)
X[2, 1] = np.nan
model = GraphImputer(method="vertex-mean", device="cpu").set_output(transform="pandas")
print(*model.fit_transform(X).columns)
"""


@pytest.mark.slow
def test_scikit_learn_is_not_needed():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True)
    assert done.stdout.split() == ["x0", "x1"], done.stderr
