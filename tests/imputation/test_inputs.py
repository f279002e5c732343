"""Inputs of GraphImputer: GraphTensors, labelled frames and graphs, masked arrays, GPU arrays."""

import sys

import networkx
import numpy as np
import pandas
import pytest
from base.inputs import Cupy, OnDevice

from gpukit import GraphImputer
from gpukit.errors import DataError
from gpukit.graphs import as_graph_tensor
from gpukit.imputation import inputs
from imputation.inputs import problem, with_nan

pytestmark = pytest.mark.filterwarnings("ignore:the spectral slices ended with mean rank")
N = 30
NAMES = [f"v{i}" for i in np.random.default_rng(5).permutation(N)]


def imputer():
    """Return an imputer whose result depends on the graph."""
    path = {"iterations": 8, "decay": 0.5, "rank_phase": False, "accelerate": False}
    return GraphImputer(weights="frequency", center="none", **path, dtype="float64", device="cpu")


@pytest.fixture(scope="module")
def case():
    """Return a Problem of vectors (N, 4)."""
    whole = problem((1, 4), "entries")
    return whole._replace(truth=whole.truth[:, 0], mask=whole.mask[:, 0])


@pytest.fixture(scope="module")
def expected(case):
    return imputer().fit_transform(case.A, case.truth, case.mask)


@pytest.mark.parametrize("kind", ["slices", "entries"])
@pytest.mark.parametrize("shape", [(), (4,), (3, 4)])
def test_a_graph_tensor_is_its_graph_tensor_and_mask(kind, shape):
    whole = problem((1,) * (2 - len(shape)) + shape, kind)
    tensor = with_nan(whole.truth, whole.mask).reshape(N, *shape)
    graph = as_graph_tensor(whole.A, tensor)
    model = imputer().fit(graph)
    np.testing.assert_array_equal(model.completed_, imputer().fit_transform(whole.A, tensor))
    assert model.completed_.shape == tensor.shape
    np.testing.assert_array_equal(model.transform(graph), model.completed_)
    for more in ((tensor,), (None, graph.mask)):
        with pytest.raises(DataError, match="GraphTensor contains its"):
            imputer().fit(graph, *more)


def test_values_of_a_graph_tensor_where_nothing_is_observed_are_not_read(case, expected):
    graph = as_graph_tensor(case.A, case.truth, case.mask)
    filled = graph._replace(tensor=np.where(graph.mask.reshape(graph.tensor.shape), graph.tensor, 1e6))
    before = filled.tensor.copy()
    np.testing.assert_array_equal(imputer().fit(filled).completed_, expected)
    np.testing.assert_array_equal(filled.tensor, before)
    taken = inputs.take_fit_inputs(filled)
    assert (taken.data.tensor[~taken.data.seen] == 0).all() and (taken.data.seen == graph.mask.reshape(N, 1, 4)).all()
    assert np.shares_memory(inputs.take_fit_inputs(graph).data.tensor, graph.tensor)
    for wrong, text in ((graph.mask & False, "nothing is observed"), (graph.mask.astype(int), "GraphTensor.mask")):
        with pytest.raises(DataError, match=text):
            imputer().fit(graph._replace(mask=wrong))
    with pytest.raises(DataError, match=r"GraphTensor.times\[1\] is nan"):
        imputer().fit(graph._replace(times=np.array([0.0, np.nan, 2.0, 3.0])))


@pytest.mark.parametrize("shape", [(20, 3), (20, 1), (20,)], ids=str)
def test_a_table_is_not_changed(shape):
    given = np.asfortranarray(np.sin(np.arange(np.prod(shape) * 1.0)).reshape(shape))
    given[4] = np.nan
    before = given.copy()
    inputs.take_fit_inputs(given)
    np.testing.assert_array_equal(given, before)


def test_a_graph_alone(case):
    with pytest.raises(DataError, match="a graph alone has no values to fill in"):
        imputer().fit(case.A)


def test_rows_are_matched_with_the_mask_and_the_graph(case, expected):
    turned = np.random.default_rng(1).permutation(N)
    tensor = pandas.DataFrame(case.truth, NAMES)
    mask = pandas.DataFrame(case.mask, NAMES).iloc[turned]
    graph = pandas.DataFrame(case.A, NAMES, NAMES).iloc[turned].iloc[:, turned[::-1]]
    np.testing.assert_allclose(imputer().fit_transform(graph, tensor, mask), expected, atol=1e-8)
    named = networkx.relabel_nodes(networkx.from_numpy_array(case.A), dict(enumerate(NAMES)))
    mixed = networkx.Graph()
    mixed.add_nodes_from(np.array(NAMES)[turned].tolist())
    mixed.add_weighted_edges_from(named.edges(data="weight"))
    np.testing.assert_allclose(imputer().fit_transform(mixed, tensor, mask), expected, atol=1e-8)
    np.testing.assert_array_equal(imputer().fit_transform(case.A, tensor, mask), expected)  # A is matched by position


@pytest.mark.parametrize("kind", ["mask", "frame", "columns", "networkx"])
def test_other_labels_are_refused(case, kind):
    tensor, mask = pandas.DataFrame(case.truth, NAMES), pandas.DataFrame(case.mask, NAMES)
    graph = case.A
    if kind == "mask":
        mask = mask.reset_index(drop=True)
    elif kind == "networkx":
        graph = networkx.from_numpy_array(case.A)
    else:
        graph = pandas.DataFrame(case.A, NAMES if kind == "columns" else None)
    with pytest.raises(DataError, match="labels"):
        imputer().fit(graph, tensor, mask)


def test_masked_and_nullable_and_device_arrays(case, expected):
    missing = with_nan(case.truth, case.mask)
    nullable = pandas.DataFrame(missing).astype("Float64")
    for tensor in (np.ma.array(case.truth, mask=~case.mask), nullable, OnDevice(missing, "cupy")):
        np.testing.assert_array_equal(imputer().fit_transform(case.A, tensor), expected)
    graph, mask = OnDevice(case.A, "torch"), OnDevice(case.mask, "torch")
    np.testing.assert_array_equal(imputer().fit_transform(graph, case.truth, mask), expected)


def test_an_array_on_a_gpu_comes_back_as_one(case, expected, monkeypatch):
    """Results are on the tensor's device, copied once.

    Labels and files are on the host.
    """
    cupy = Cupy()
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    given = cupy.array(with_nan(case.truth, case.mask), 1)
    model = imputer().fit(case.A, given)
    again = model.transform(given)
    for found in (model.completed_, again):
        assert type(found).__module__ == "cupy" and found.number == 1
        np.testing.assert_array_equal(found.get(), expected)
    assert model.deviation_.number == 1 and model.deviation_.shape == case.truth.shape
    assert cupy.made == [case.truth.shape] * 3
    assert isinstance(model.transform(given.get()), np.ndarray)


@pytest.mark.parametrize("value", [-999.0, 9999.0])
def test_a_number_that_stands_for_missing(value):
    values = 10.0 + np.cumsum(np.random.default_rng(0).normal(size=(4, 60)), axis=1)
    values[1, 5:9] = np.nan

    def notes():
        return GraphImputer(method="interpolation", device="cpu").fit(np.ones((4, 4)), values).notes_

    assert notes() == []
    values[0, :2] = value
    assert notes() == []  # twice may be chance
    values[3, 7] = value
    rest = values[np.isfinite(values) & (values != value)]
    given, values = values, np.where(values == value, rest.max() + 2 * np.ptp(rest), values)
    assert notes() == []  # twice as far as the others from each other
    values = given
    (note,) = notes()
    assert f"3 values are {value:g}" in note and f"--missing-value {value:g}" in note


def notes_of(values):
    """Return the notes of a table with a missing value."""
    values[0, 0] = np.nan
    return GraphImputer(method="interpolation", device="cpu").fit(np.ones((len(values), len(values))), values).notes_


def test_a_number_that_stands_for_missing_in_one_sensor_of_unlike_ones():
    values = np.random.default_rng(0).normal(size=(3, 80)) * [[200.0], [1.0], [5.0]] + [[1000.0], [2.0], [15.0]]
    values[1, 20:26] = values[2, 40:43] = -200.0
    (note,) = [note for note in notes_of(values) if "missing-value" in note]
    assert note.startswith("9 values are -200,")
    values[2, 40:43] = 15.0
    values[1, 20:23] = 2.0  # three are left
    assert any(note.startswith("3 values are -200,") for note in notes_of(values))


def test_levels_of_sensors_are_no_code():
    """Three sensors with a rest of their own each."""
    values = np.random.default_rng(0).normal(size=(3, 80)) + 50.0
    values[:, 10:15] = [[1.0], [2.0], [3.0]]
    assert not any("missing-value" in note for note in notes_of(values))


def test_zeros_of_a_night_are_readings():
    values = np.maximum(np.sin(np.arange(60) / 4.0), 0.0) * (50 + np.arange(4))[:, None]
    values[0, 7] = np.nan
    model = GraphImputer(method="interpolation", device="cpu").fit(np.ones((4, 4)), values)
    assert not any("missing-value" in note for note in model.notes_)


def test_a_graph_is_converted_once(case, monkeypatch):
    calls, convert, tensor = [], inputs.as_adjacency, with_nan(case.truth, case.mask)
    monkeypatch.setattr(inputs, "as_adjacency", lambda *arguments: calls.append(arguments) or convert(*arguments))
    taken = inputs.take_fit_inputs(case.A, tensor)
    assert len(calls) == 1 and (taken.adjacency != convert(case.A)).nnz == 0
    taken = inputs.take_fit_inputs(pandas.DataFrame(tensor.T))
    assert len(calls) == 1 and (taken.adjacency != convert(taken.adjacency)).nnz == 0


def test_the_last_vertices_of_a_list_of_edges_may_have_none():
    taken = inputs.take_fit_inputs(np.array([[0, 1], [1, 2], [0, 2]]), np.arange(20.0).reshape(5, 4))
    assert taken.adjacency.shape == (5, 5) and taken.adjacency.nnz == 6
