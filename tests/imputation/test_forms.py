"""Common forms of series: frames, long ones, xarray's arrays.

They are matched by label, and results have the same form.
"""

import tracemalloc

import networkx
import numpy as np
import pandas
import pytest

from gpukit import GraphImputer, graph_from_coordinates, load_model
from gpukit.errors import DataError
from gpukit.graphs import as_graph_tensor
from gpukit.graphs.tensor import Graph
from gpukit.imputation.inputs import take_fit_inputs, take_transform_inputs

N, T = 9, 40
NAMES = [f"s{i}" for i in range(N)]
TIMES = pandas.date_range("2020-03-01", periods=T, freq="h", name="time")


def imputer(**more):
    return GraphImputer(method="kriging", device="cpu", **more)


def adjacency():
    A = np.eye(N, k=1) + np.eye(N, k=3)
    return A + A.T


def graph():
    return Graph(pandas_free(adjacency()), np.array(NAMES))


def pandas_free(A):
    from gpukit.graphs.adjacency import as_adjacency

    return as_adjacency(A)


@pytest.fixture(scope="module")
def values():
    """(N, T) with some missing."""
    rng = np.random.default_rng(0)
    found = np.sin(np.arange(T) / 4) + rng.normal(size=(N, 1)) + 0.1 * rng.normal(size=(N, T))
    found[rng.random((N, T)) < 0.2] = np.nan
    return found


@pytest.fixture(scope="module")
def expected(values):
    return imputer().fit(adjacency(), values, times=TIMES.to_numpy()).completed_


@pytest.fixture
def frame(values):
    """Times by sensors."""
    return pandas.DataFrame(values.T, TIMES, NAMES)


def check(got, like, expected):
    """Check a frame's labels and its values by vertex and time."""
    assert isinstance(got, pandas.DataFrame)
    assert got.index.equals(like.index) and got.columns.equals(like.columns) and got.index.name == like.index.name
    turned = got.T if got.index.equals(TIMES) else got
    np.testing.assert_allclose(turned.loc[NAMES].to_numpy(float), expected, rtol=1e-12)


def test_a_frame_comes_back(frame, expected):
    model = imputer().fit(graph(), frame)
    check(model.completed_, frame, expected)
    assert model.deviation_.shape == frame.shape and model.deviation_.index.equals(TIMES)
    assert ((model.deviation_ == 0) == frame.notna()).all(axis=None)
    assert model.vertices_.tolist() == NAMES and model.confidence_.shape == (N,)
    check(model.transform(frame), frame, expected)
    check(imputer().fit_transform(graph(), frame.T), frame.T, expected)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_labels_are_matched_never_places(frame, expected, seed):
    order = np.random.default_rng(seed).permutation(N)
    mixed = frame.iloc[:, order]
    check(imputer().fit_transform(graph(), mixed), mixed, expected)
    check(imputer().fit_transform(graph(), mixed.T), mixed.T, expected)
    check(imputer().fit(graph(), frame).transform(mixed), mixed, expected)
    square = pandas.DataFrame(adjacency(), NAMES, NAMES)
    check(imputer().fit_transform(square, mixed), mixed, expected)
    nodes = networkx.relabel_nodes(networkx.from_numpy_array(adjacency()), dict(enumerate(NAMES)))
    check(imputer().fit_transform(nodes, mixed), mixed, expected)


def test_times_in_any_order(frame, expected):
    order = np.random.default_rng(0).permutation(T)
    mixed = frame.iloc[order]
    got = imputer().fit_transform(graph(), mixed)
    assert got.index.equals(mixed.index)
    check(got.loc[TIMES], frame, expected)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["interpolation", "local", "auto"])
def test_columns_in_another_order_give_the_same(frame, method):
    frame.iloc[:, 2] = np.nan
    one = GraphImputer(method=method, device="cpu").fit_transform(graph(), frame)
    order = [4, 2, 8, 0, 1, 7, 3, 6, 5]
    other = GraphImputer(method=method, device="cpu").fit_transform(graph(), frame.iloc[:, order])
    np.testing.assert_array_equal(other[NAMES].to_numpy(), one.to_numpy())
    alone = GraphImputer(method=method, device="cpu").fit(frame)
    again = GraphImputer(method=method, device="cpu").fit(frame.iloc[::-1, order])
    np.testing.assert_allclose(again.completed_.loc[TIMES, NAMES], alone.completed_, rtol=1e-6, atol=1e-6)
    assert any("no graph was passed" in note for note in alone.notes_)


def test_readings_and_columns_of_times_are_refused_with_the_call(frame):
    long = frame.reset_index().melt("time", var_name="station", value_name="speed")
    with pytest.raises(DataError, match=r"frame.pivot\(index='time', columns='station', values=NAME_OF_THE_VALUES\)"):
        imputer().fit(graph(), long)
    for given in (frame.reset_index(), frame.reset_index(drop=True).rename_axis(None).reset_index()):
        name = given.columns[0]
        with pytest.raises(DataError, match=rf"the table has times in '{name}': .*frame.set_index\('{name}'\)"):
            imputer().fit(graph(), given)


@pytest.mark.parametrize("kind", ["Float64", "text", "period", "zone", "mask"])
def test_other_kinds_of_frames(frame, expected, kind):
    if kind == "Float64":
        given = frame.convert_dtypes()
        assert given.isna().any(axis=None)
    elif kind == "text":
        given = frame.set_axis(frame.index.map(str))
    elif kind == "period":
        given = frame.set_axis(TIMES.to_period("h"))
    elif kind == "zone":
        given = frame.set_axis(TIMES.tz_localize("Europe/Paris"))
    else:
        given, mask = frame.fillna(-1.0), frame.notna().iloc[:, ::-1]
        np.testing.assert_allclose(imputer().fit_transform(graph(), given, mask).T, expected, rtol=1e-12)
        mask = mask.iloc[::-1]
        np.testing.assert_allclose(imputer().fit_transform(graph(), given, mask).T, expected, rtol=1e-12)
        return
    got = imputer().fit_transform(graph(), given)
    assert got.index.equals(given.index)
    np.testing.assert_allclose(got.to_numpy(float).T, expected, rtol=1e-12)


def test_xarray(frame, expected):
    import xarray

    for turned in (False, True):
        given = frame.T if turned else frame
        dims = ("station", "time") if turned else ("time", "station")
        array = xarray.DataArray(given.to_numpy(), {dims[0]: given.index, dims[1]: given.columns}, dims, "speed")
        before = array.copy(deep=True)
        got = imputer().fit_transform(graph(), array)
        assert isinstance(got, xarray.DataArray) and got.dims == dims and got.name == "speed"
        assert got.coords.equals(array.coords) and array.identical(before)
        check(got.to_pandas(), array.to_pandas(), expected)


@pytest.mark.slow
def test_a_graph_without_labels_goes_by_place(frame, expected):
    check(imputer().fit_transform(adjacency(), frame), frame, expected)
    plain = frame.set_axis(range(T)).set_axis(range(N), axis=1)
    got = imputer().fit_transform(adjacency(), plain)  # one column per vertex
    assert got.shape == (T, N)


def test_numbers_in_another_order_are_those_of_the_vertices(frame):
    """Labels 0 to N-1 went by position, as other labels do for a graph without labels."""
    numbered = frame.set_axis(range(N), axis=1)
    mixed = numbered[np.random.default_rng(0).permutation(N)]
    model = imputer().fit(adjacency(), mixed)
    pandas.testing.assert_frame_equal(model.completed_[range(N)], imputer().fit_transform(adjacency(), numbered))
    pandas.testing.assert_frame_equal(model.transform(mixed), model.completed_)
    assert model.vertices_.tolist() == list(range(N))


@pytest.mark.parametrize(
    "change, error",
    [
        (lambda frame: frame.assign(extra=1.0), "labels of the tensor's columns .* 'extra' is no vertex"),
        (lambda frame: frame.rename(columns={"s3": "s33"}), "'s33' is no vertex of the graph; 's3' is not among them"),
        (lambda frame: frame.drop(columns="s0"), "'s0' is not among them"),
        (lambda frame: frame.set_axis(["s0"] * N, axis=1), "'s1', 's2', 's3' and 5 others are not among them"),
        (lambda frame: frame.assign(s3="warm"), "words, no readings, in 's3'"),
    ],
)
def test_labels_that_differ_are_refused(frame, change, error):
    with pytest.raises(DataError, match=error) as caught:
        imputer().fit(graph(), change(frame))
    assert "\n" not in str(caught.value)
    with pytest.raises(DataError, match=error):
        imputer().fit(graph(), frame).transform(change(frame))


def test_coordinates_make_the_graph(frame):
    rng = np.random.default_rng(2)
    places = pandas.DataFrame({"latitude": 50 + rng.random(N), "longitude": rng.random(N)}, index=NAMES[::-1])
    made = graph_from_coordinates(places, neighbors=3)
    got = imputer().fit(made, frame)
    assert got.vertices_.tolist() == NAMES[::-1] and got.completed_.columns.tolist() == NAMES


def test_fit_saves_labels_and_times(frame, expected, tmp_path):
    model = imputer().fit(graph(), frame)
    model.save(tmp_path / "m")
    again = GraphImputer.load(tmp_path / "m")
    np.testing.assert_allclose(again.completed_, expected, rtol=1e-12)
    mixed = frame.iloc[:, ::-1]
    check(again.transform(mixed), mixed, expected)
    data = as_graph_tensor(graph(), mixed[NAMES].to_numpy().T, times=mixed.index)
    turned = data._replace(vertices=data.vertices[::-1], tensor=data.tensor[::-1], mask=data.mask[::-1])
    np.testing.assert_allclose(again.transform(turned)[::-1], expected, rtol=1e-12)
    cycle = np.roll(np.arange(N), 3)
    rolled = data._replace(vertices=data.vertices[cycle], tensor=data.tensor[cycle], mask=data.mask[cycle])
    np.testing.assert_allclose(again.transform(rolled), expected[cycle], rtol=1e-12)


@pytest.mark.slow
def test_columns_that_are_no_readings_are_named(frame):
    at = frame.index
    words = frame.reset_index(drop=True).assign(wind="NW", place="x")
    words.loc[0, "wind"] = None
    with pytest.raises(DataError, match=r"words, no readings, in 'wind' \('NW'\).*\['wind'\]"):
        imputer().fit(words)
    calendar = frame.reset_index(drop=True).assign(year=at.year, month=at.month, day=at.day, hour=at.hour)
    with pytest.raises(DataError, match=r"times in year, month, day, hour, .*to_datetime\(frame\[\['year', .*\]\]\)"):
        imputer().fit(calendar)
    months = frame.iloc[:10].reset_index(drop=True).assign(year=2020, month=range(1, 11))
    with pytest.raises(DataError, match=r"\[\['year', 'month'\]\]\.assign\(day=1\)\)"):
        imputer().fit(months)
    kept = frame.astype(object).where(frame.notna(), "?")
    np.testing.assert_allclose(imputer().fit(kept.replace("?", np.nan)).completed_, imputer().fit(frame).completed_)


@pytest.mark.parametrize(
    "nothing",
    [np.nan, *(pytest.param(one, marks=pytest.mark.slow) for one in (None, pandas.NA, pandas.NaT, "", "NA")), "?"],
)
def test_sensors_without_a_reading_are_filled_in(frame, nothing):
    expected = imputer().fit_transform(graph(), frame.assign(s3=np.nan))
    given = frame.assign(s3=pandas.Series([nothing] * T, frame.index, dtype=object))
    got = imputer().fit_transform(graph(), given)
    assert expected.notna().all(axis=None) and got.index.equals(TIMES)
    np.testing.assert_array_equal(got.to_numpy(float), expected.to_numpy())


def test_rows_of_the_tensor_are_those_of_the_graph(frame, values):
    mixed, model = frame.iloc[:, [4, 2, 8, 0, 1, 7, 3, 6, 5]], imputer().fit(graph(), frame)
    for given in (mixed, mixed.T):
        for taken in (take_fit_inputs(graph(), given), take_transform_inputs(model, given)):
            np.testing.assert_array_equal(taken.data.tensor[:, 0], np.nan_to_num(values))
    cycle = np.roll(np.arange(N), 3)
    rolled = as_graph_tensor(Graph(graph().adjacency, np.array(NAMES)[cycle]), values[cycle], times=TIMES)
    taken = take_transform_inputs(model, rolled)
    np.testing.assert_array_equal(taken.data.tensor[:, 0], np.nan_to_num(values))
    np.testing.assert_array_equal(taken.back(values, known=False), values[cycle])


def test_default_columns_are_matched_by_position(frame, expected):
    """A label of the graph that was also a position moved its column, so that another one was used twice."""
    numbered = Graph(pandas_free(adjacency()), np.arange(N) + 5)
    model = imputer().fit(numbered, frame.set_axis(range(N), axis=1))
    np.testing.assert_allclose(model.completed_.to_numpy().T, expected, rtol=1e-12)
    assert model.vertices_.tolist() == list(range(5, N + 5))


@pytest.mark.parametrize("turned", [False, True])
def test_a_frame_is_copied_once(turned):
    """It was copied three times, and a copy was kept next to the tensor."""
    values = np.sin(np.arange(400 * 2000.0).reshape(2000, 400))
    values[::5, ::3] = np.nan
    names = [f"s{index}" for index in range(400)]
    table = pandas.DataFrame(values, pandas.date_range("2020-01-01", periods=2000, freq="h"), names)
    path = Graph(pandas_free(np.column_stack((np.arange(399), np.arange(1, 400)))), np.array(names))
    take_fit_inputs(path, table)  # imports
    tracemalloc.start()
    taken = take_fit_inputs(path, table.T if turned else table)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 1.3 * values.nbytes and peak < 3 * values.nbytes
    np.testing.assert_array_equal(taken.data.tensor[:, 0], np.nan_to_num(values.T))
    assert np.isnan(table.to_numpy()).sum() == np.isnan(values).sum() == (~taken.data.seen).sum()


@pytest.mark.parametrize("name, place", [("year", 0), ("time", 2), ("step", 0)])
def test_a_column_of_numbers_that_is_called_a_time_is_refused(frame, name, place):
    given = frame.set_axis(range(T)).reset_index(drop=True)
    given.insert(place, name, np.arange(1900, 1900 + T))
    with pytest.raises(DataError, match=rf"the table has times in '{name}': .*frame.set_index\('{name}'\)"):
        imputer().fit(given)


@pytest.mark.parametrize("nodes", [["b", 3, "a"], [(0, 0), (0, 1), (1, 1)], [1.5, 2.5, 0.5]], ids=str)
def test_vertices_of_any_kind_are_matched_by_label(nodes):
    """Their positions were used, so that columns in another order got the neighbours of others."""
    path = networkx.path_graph(3)
    labelled = networkx.relabel_nodes(path, dict(enumerate(nodes)))
    days = pandas.date_range("2020-01-01", periods=8)
    table = pandas.DataFrame(np.arange(24.0).reshape(8, 3) ** 1.5, days, pandas.Index(nodes, tupleize_cols=False))
    table.iloc[2:4, 0] = np.nan
    expected = GraphImputer(method="vertex-mean", device="cpu").fit_transform(labelled, table)
    model = GraphImputer(method="vertex-mean", device="cpu").fit(labelled, table.iloc[:, [2, 0, 1]])
    assert model.vertices_.tolist() == [*map(str, nodes)]
    np.testing.assert_array_equal(model.adjacency_.toarray(), networkx.to_numpy_array(path))
    np.testing.assert_array_equal(model.completed_.iloc[:, [1, 2, 0]].to_numpy(), expected.to_numpy())
    with pytest.raises(DataError, match="'other', 'x', 'y' are no vertex of the graph"):
        GraphImputer(method="vertex-mean").fit(labelled, table.set_axis(["other", "x", "y"], axis=1))


@pytest.mark.parametrize("shape", [(40,), (5, 40), (5, 5), ()], ids=str)
def test_a_mask_of_another_shape_is_refused(shape):
    """The first values of a mask of the times were read as one of the sensors."""
    table = pandas.DataFrame(np.arange(200.0).reshape(40, 5), pandas.date_range("2020-01-01", periods=40))
    with pytest.raises(
        DataError, match=r"the mask has the shape .* it needs the table's, \(40, 5\), or \(5,\), a value"
    ):
        GraphImputer(method="interpolation").fit(None, table, np.ones(shape, bool))


def test_a_square_array_after_a_data_frame_is_refused(tmp_path, frame):
    """Its rows were read as sensors, although those of the frame are times."""
    square = frame.iloc[:N].to_numpy()
    for given in (None, graph()):
        model = GraphImputer(method="interpolation").fit(given, frame)
        model.save(tmp_path / "model.gpukit")
        for one in (model, load_model(tmp_path / "model.gpukit")):
            with pytest.raises(DataError, match="which side is time: give a data frame"):
                one.transform(square)
            with pytest.raises(DataError, match="which side is time: give a data frame"):
                one.extend(square)
            assert one.transform(frame[:N]).shape == (N, N)
            assert one.transform(frame.to_numpy().T).shape == (N, T)
    assert GraphImputer(method="interpolation").fit(adjacency(), frame.to_numpy().T).transform(square).shape == (N, N)
