"""Arrays without labels: tables of times by sensors, and transposed arrays."""

import numpy as np
import pandas
import pytest

from gpukit import GraphImputer
from gpukit.errors import DataError
from gpukit.graphs import as_graph_tensor
from gpukit.graphs.graph_builders import graph_from_series

N, T = 6, 50
A = np.eye(N, k=1) + np.eye(N, k=1).T
EDGES = np.array([[at, at + 1] for at in range(N - 1)])


def imputer(method="interpolation"):
    return GraphImputer(method=method, device="cpu")


@pytest.fixture
def X():
    """Times by sensors with gaps."""
    rng = np.random.default_rng(0)
    values = np.cumsum(rng.normal(size=(T, N)), axis=0) + rng.normal(scale=20, size=N)
    values[rng.random((T, N)) < 0.2] = np.nan
    return values


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["array", "list", "masked", "mask", "float32", "transform", "file"])
def test_a_table_alone_has_a_sensor_a_column(X, kind, tmp_path):
    expected = imputer().fit_transform(pandas.DataFrame(X)).to_numpy()
    if kind in ("transform", "file"):
        model = imputer().fit(X)
        if kind == "file":
            model.save(tmp_path / "m")
            model = GraphImputer.load(tmp_path / "m")
        np.testing.assert_allclose(model.transform(X), expected)
        assert model.transform(X[:N]).shape == (N, N)  # not transposed, although it would fit
        np.testing.assert_allclose(model.transform(X[:N])[~np.isnan(X[:N])], X[:N][~np.isnan(X[:N])])
        with pytest.raises(DataError, match=r"table of 6 columns.* \(6, 50\). Give X.T"):
            model.transform(X.T)
        return
    given = {"list": X.tolist(), "masked": np.ma.masked_invalid(X), "float32": X.astype(np.float32)}.get(kind, X)
    mask = ~np.isnan(X) if kind == "mask" else None
    model = imputer().fit(np.nan_to_num(X), mask=mask) if kind == "mask" else imputer().fit(given)
    assert model.completed_.shape == model.deviation_.shape == (T, N)
    np.testing.assert_allclose(model.completed_, expected, rtol=1e-5)
    assert kind != "float32" or model.completed_.dtype == np.float32


@pytest.mark.parametrize("kind", ["series", "array", "list", "none", "column"])
def test_a_series_is_a_table_of_one_column(X, kind):
    index = pandas.date_range("2020-01-01", periods=T, freq="D", name="day")
    series = pandas.Series(X[:, 0], index, np.float32, "flow")
    expected = series.interpolate(limit_direction="both").to_numpy()
    given = {"array": X[:, 0], "list": X[:, 0].tolist(), "column": X[:, :1]}.get(kind, series)
    got = imputer().fit_transform(*((None, given) if kind == "none" else (given,)))
    if kind in ("series", "none"):
        assert got.index.equals(index) and got.index.name == "day" and got.name == "flow" and got.dtype == np.float32
        assert imputer().fit(given).transform(given).equals(got)
    np.testing.assert_allclose(np.ravel(got), expected, rtol=1e-5)


def test_a_series_with_the_graphs_labels_is_a_value_a_vertex():
    names = list("abcdef")
    graph = pandas.DataFrame(A, names, names)
    given = pandas.Series([1.0, 2, np.nan, 4, 5, 6], names, name="level")
    got = imputer("vertex-mean").fit_transform(graph, given.iloc[::-1])
    assert got.index.tolist() == names[::-1] and got.name == "level" and got["c"] == pytest.approx(3.6)


@pytest.mark.parametrize("method", ["interpolation", "auto"])
@pytest.mark.parametrize("rows", [T, 5])
def test_times_by_sensors_are_no_sensors_by_times(X, method, rows):
    short = np.concatenate([X] * 2, axis=1)[:rows] if rows == T else np.cumsum(np.ones((20, 40)), axis=0) * np.pi
    short = short + 50 * np.random.default_rng(1).permutation(short.shape[1])
    short[3, 2] = np.nan
    with pytest.raises(DataError, match=r"which axis is time.*fit\(X\).*fit\(graph_from_series\(X\), X\)"):
        imputer(method).fit_transform(None, short)


@pytest.mark.parametrize("width, times", [(30, None), (30, np.arange(30)), (40, None)])
def test_axes_without_order_are_not_guessed(width, times):
    values = np.random.default_rng(0).normal(size=(30, width))
    with pytest.raises(DataError, match=r"which axis is time.*fit\(X\).*fit\(graph_from_series\(X\), X\)"):
        imputer().fit_transform(None, values, times=times)


@pytest.mark.slow
def test_sensors_by_times_stay(X):
    expected = imputer().fit_transform(X)
    np.testing.assert_allclose(imputer().fit_transform(graph_from_series(X.T), X.T), expected.T)
    np.testing.assert_allclose(imputer().fit_transform(None, X.T, times=np.arange(T)), expected.T)
    np.testing.assert_allclose(imputer().fit_transform(None, X, times=np.arange(T)), expected)
    np.testing.assert_allclose(imputer().fit_transform(X, times=np.arange(T)), expected)


@pytest.mark.parametrize("graph", [A, EDGES, (EDGES, None)], ids=["square", "edges", "pair"])
def test_arrays_that_lie_the_other_way_beside_a_graph(X, graph):
    for take in (imputer().fit, as_graph_tensor):
        with pytest.raises(DataError, match=r"transposed: give X.T .*--layout columns"):
            take(graph, X)
    with pytest.raises(DataError, match=r"transposed: give X.T"):
        imputer().fit(graph, X.T).transform(X)


@pytest.mark.parametrize("known", [True, False])
def test_samples_are_refused_with_the_call(X, known):
    samples = np.stack([X] * 3)
    given = (A, samples) if known else (None, samples)
    with pytest.raises(DataError, match=r"X\[0\]"):
        imputer().fit(*given)
    with pytest.raises(DataError, match=r"X\[0\].*fit\(graph_from_series\(X\), X\)"):
        imputer().fit(samples)
    with pytest.raises(DataError, match="a dictionary has no values"):
        imputer().fit({"X": samples})


def test_a_graph_alone_is_no_table():
    for graph in (A, EDGES, A.tolist()):
        with pytest.raises(DataError, match="a graph alone has no values to fill in"):
            imputer().fit(graph)


def test_datasets_are_refused_by_name():
    import xarray

    frame = pandas.DataFrame({"a": [1.0, np.nan], "b": [2.0, 3.0]})
    with pytest.raises(DataError, match=r"give one of them, dataset\['a'\]"):
        imputer().fit(frame.to_xarray())
    with pytest.raises(DataError, match="dimensions t, y, x: .*array.stack"):
        imputer().fit(None, xarray.DataArray(np.ones((2, 2, 2)), dims=("t", "y", "x")))


@pytest.mark.parametrize("kind", [object, str, complex, "datetime64[s]", "timedelta64[s]"])
def test_arrays_of_other_things_than_numbers(kind):
    with pytest.raises(DataError, match="the table holds .*, not real numbers"):
        GraphImputer(device="cpu").fit(np.ones((6, 3)).astype(kind))


@pytest.mark.parametrize("kind", [complex, "datetime64[s]", "timedelta64[s]"])
def test_columns_of_other_things_than_numbers(kind):
    frame = pandas.DataFrame({"a": [1, np.nan, 3], "b": [1.0, 2, 3]}, index=pandas.date_range("2024", periods=3))
    values = frame.assign(when=np.array([1, 2, 3]).astype(kind))
    with pytest.raises(DataError, match=r"the table has .*, no readings, in 'when': .*drop\(columns=\['when'\]\)"):
        GraphImputer(device="cpu").fit(values)
    with pytest.raises(DataError, match="no readings"):
        GraphImputer(device="cpu").fit(values.when)
