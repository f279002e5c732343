"""Arrays in common forms become one validated GraphTensor."""

import networkx
import numpy as np
import pandas
import pytest

from gpukit.errors import DataError, ParameterError
from gpukit.graphs import as_graph_tensor

PATH = np.eye(4, k=1) + np.eye(4, k=-1)
T = np.arange(1.0, 25.0).reshape(4, 2, 3)


def holes(*places, values=T):
    tensor = values.copy()
    for place in places:
        tensor[place] = np.nan
    return tensor


def test_nothing_missing():
    found = as_graph_tensor(PATH, T)
    assert np.array_equal(found.tensor, T) and found.mask.shape == (4,) and found.mask.all()
    assert found.vertices is None and found.truth is None and found.missing_share == 0
    assert np.array_equal(found.adjacency.toarray(), PATH)


def test_nan_in_whole_slices():
    found = as_graph_tensor(PATH, holes(1))
    assert found.mask.tolist() == [True, False, True, True] and (found.tensor[1] == 0).all()
    assert np.array_equal(found.tensor[[0, 2, 3]], T[[0, 2, 3]]) and found.missing_share == 0.25


def test_nan_in_single_entries():
    found = as_graph_tensor(PATH, holes(1, (2, 0, 1)))
    expected = np.ones((4, 2, 3), dtype=bool)
    expected[1] = expected[2, 0, 1] = False
    assert np.array_equal(found.mask, expected) and np.array_equal(found.tensor, np.where(expected, T, 0))


@pytest.mark.parametrize("dtype", [bool, np.int8, float])
def test_masks(dtype):
    whole = np.array([1, 1, 0, 1], dtype=dtype)
    entries = np.ones((4, 2, 3), dtype=dtype)
    entries[0, 1, 2] = 0
    found = as_graph_tensor(PATH, T, whole)
    assert found.mask.dtype == bool and np.array_equal(found.mask, whole) and (found.tensor[2] == 0).all()
    found = as_graph_tensor(PATH, T, entries)
    assert np.array_equal(found.mask, entries) and found.tensor[0, 1, 2] == 0 and found.tensor[0, 1, 1] == T[0, 1, 1]
    as_whole = as_graph_tensor(PATH, T, np.broadcast_to(whole[:, None, None], T.shape))
    assert as_whole.mask.shape == (4,) and np.array_equal(as_whole.mask, whole)
    assert np.array_equal(as_graph_tensor(PATH, holes(2), whole).mask, whole)  # both give the same mask


def test_shapes():
    assert as_graph_tensor(PATH, T[:, 0]).tensor.shape == (4, 1, 3)
    assert as_graph_tensor(PATH, T[:, 0, 0]).tensor.shape == (4, 1, 1)
    flat, mask = T.reshape(4, 6), np.ones((4, 6))
    mask[0, 5] = 0
    made = as_graph_tensor(PATH, flat, mask, truth=flat + 1, slice_shape=(2, 3))
    assert np.array_equal(made.tensor, np.where(made.mask, T, 0))
    assert made.tensor.shape == made.mask.shape == made.truth.shape == (4, 2, 3)
    assert not made.mask[0, 1, 2] and made.mask.sum() == 23 and np.array_equal(made.truth, T + 1)
    assert np.array_equal(as_graph_tensor(PATH, T, slice_shape=(6, 1)).tensor, T.reshape(4, 6, 1))


@pytest.mark.parametrize(
    "given, kept",
    [
        (np.float32, np.float32),
        (np.float64, np.float64),
        (np.float16, np.float32),
        (np.int32, np.float64),
        (bool, np.float64),
    ],
)
def test_dtypes(given, kept):
    found = as_graph_tensor(PATH, T.astype(given), truth=T)
    assert found.tensor.dtype == found.truth.dtype == kept and found.tensor.flags.c_contiguous


@pytest.mark.parametrize("order", ["C", "F"])
def test_order_and_inputs(order):
    tensor, mask = np.array(holes(0), order=order), np.array([False, True, True, True])
    before = tensor.copy()
    for found in (as_graph_tensor(PATH, tensor, mask), as_graph_tensor(PATH, tensor)):
        assert found.tensor.flags.c_contiguous and found.tensor[0].sum() == 0
        assert np.array_equal(tensor, before, equal_nan=True) and mask.tolist() == [False, True, True, True]


def test_a_list_of_edges_has_as_many_vertices_as_the_tensor():
    for graph in (np.array([[0, 1], [1, 2], [0, 2]]), ([[0, 1]], None), [[0, 1], [1, 2], [0, 2]]):
        assert as_graph_tensor(graph, T).adjacency.shape == (4, 4)


def test_vertices():
    assert as_graph_tensor(PATH, T, vertices=["a", "b", "c", "d"]).vertices.tolist() == ["a", "b", "c", "d"]
    assert as_graph_tensor(PATH, T, vertices=np.array([7, 3, 9, 1])).vertices.tolist() == [7, 3, 9, 1]


def infinite():
    tensor = T.copy()
    tensor[2, 1, 0] = -np.inf
    return tensor


REFUSED = {
    "empty": (dict(tensor=np.empty((0, 2, 2))), "the tensor is empty"),
    "a number": (dict(tensor=3.0), "the tensor is empty"),
    "objects": (dict(tensor=np.array([None] * 4)), "tensor holds object"),
    "text": (dict(tensor=np.array(["a"] * 4)), "tensor holds <U1"),
    "four axes": (dict(tensor=T[None].repeat(4, 0)), "has 4 axes"),
    "another N": (dict(tensor=T[:3]), r"has 3 slices \(its shape is \(3, 2, 3\)\), but the graph has 4 vertices"),
    "fewer than edges": (dict(graph=([[0, 5]], None)), "names vertex 5, but the vertices are 0 to 3"),
    "infinity": (dict(tensor=infinite()), "the tensor is -inf at vertex 2, row 1, column 0"),
    "infinity, masked": (dict(tensor=infinite(), mask=[1, 1, 0, 1]), "-inf at vertex 2"),
    "NaN observed": (dict(tensor=holes((3, 0, 1)), mask=np.ones(4)), "NaN at vertex 3, row 0, column 1, where"),
    "NaN observed, entries": (dict(tensor=holes((3, 0, 1)), mask=np.ones((4, 2, 3))), "NaN at vertex 3, row 0, col"),
    "nothing observed": (dict(tensor=np.full((4, 2), np.nan)), "nothing is observed"),
    "nothing observed by the mask": (dict(mask=np.zeros(4)), "nothing is observed"),
    "mask of another shape": (
        dict(mask=np.ones((4, 2))),
        r"shape \(4, 2\); it needs \(4,\).*or the tensor's, \(4, 2, 3\)",
    ),
    "mask of other values": (dict(mask=[0, 1, 2, 1]), "the mask must hold True"),
    "mask of text": (dict(mask=["a", "b", "c", "d"]), "the mask must hold True"),
    "truth of another shape": (dict(truth=T[:, :1]), r"truth has the shape \(4, 1, 3\), the tensor \(4, 2, 3\)"),
    "truth with NaN": (dict(truth=holes((1, 1, 1))), "truth is nan at vertex 1, row 1, column 1"),
    "too few ids": (dict(vertices=[1, 2, 3]), "vertices must be 4 ids"),
    "ids of two axes": (dict(vertices=[[1, 2, 3, 4]]), "vertices must be ids"),
    "ids twice": (dict(vertices=[1, 2, 3, 1]), "vertices has 1 twice"),
    "ids with fractions": (dict(vertices=[0.5, 1, 2, 3]), "vertices must be ids, whole numbers or text; got float64"),
    "graph": (dict(graph=-PATH), "between vertices 0 and 1 is -1"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    changes, words = REFUSED[case]
    with pytest.raises(DataError, match=words) as caught:
        as_graph_tensor(**{"graph": PATH, "tensor": T, **changes})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "shape, words",
    [
        ((2, 2), "slices of 2 x 2 have 4 numbers, but the tensor's have 6"),
        ((0, 6), "m of slice_shape"),
        ("ab", "m of slice_shape"),
        (5, "must be"),
    ],
)
def test_refused_slices(shape, words):
    with pytest.raises(ParameterError, match=words):
        as_graph_tensor(PATH, T, slice_shape=shape)


NAMES = ["c", "a", "d", "b"]
SQUARE = pandas.DataFrame(PATH, index=NAMES, columns=NAMES)
TABLE = pandas.DataFrame(T[:, 0], index=NAMES)


def same_graph(found, expected):
    assert np.array_equal(found.adjacency.toarray(), PATH) and found.tensor.dtype == expected.tensor.dtype
    assert np.array_equal(found.tensor, expected.tensor) and np.array_equal(found.mask, expected.mask)


def test_labels_of_a_graph_and_its_columns_in_another_order():
    assert as_graph_tensor(SQUARE, T).vertices.tolist() == NAMES
    turned = SQUARE.sort_index()[["d", "c", "b", "a"]]  # columns in another order than rows
    order = turned.index.tolist()
    assert np.array_equal(as_graph_tensor(turned, T).adjacency.toarray(), SQUARE.loc[order, order].to_numpy())
    graph = networkx.Graph()
    graph.add_nodes_from([3, 1, 0, 2])
    graph.add_edges_from([(3, 1), (1, 0), (0, 2)])
    found = as_graph_tensor(graph, T)  # by position
    assert np.array_equal(found.tensor, T) and found.vertices.tolist() == [3, 1, 0, 2]
    places = networkx.relabel_nodes(graph, {at: (at, at) for at in range(4)})
    assert as_graph_tensor(places, T).vertices.tolist() == ["(3, 3)", "(1, 1)", "(0, 0)", "(2, 2)"]
    graph = pandas.DataFrame(PATH, pandas.RangeIndex(1, 5), pandas.RangeIndex(1, 5))
    assert as_graph_tensor(graph, T).vertices.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "graph, message",
    [
        (SQUARE.rename(columns={"a": "x"}), "the adjacency's columns .*'x' is no row"),
        (SQUARE.set_axis(list("aabc")), "names a vertex twice among its rows"),
    ],
)
def test_labels_that_do_not_match(graph, message):
    with pytest.raises(DataError, match=message) as caught:
        as_graph_tensor(graph, T)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["tensor", "mask", "truth"])
def test_data_frames_are_refused_with_the_call(name):
    with pytest.raises(DataError, match=r"frame.to_numpy\(\), .*vertices=frame.index"):
        as_graph_tensor(**{"graph": SQUARE, "tensor": T, name: TABLE > 0})


def test_masked_arrays_and_arrays_of_others():
    hidden = np.arange(24).reshape(4, 2, 3) % 7 == 0
    expected = as_graph_tensor(PATH, np.where(hidden, np.nan, T))
    for masked in (np.ma.MaskedArray(T, hidden), np.ma.MaskedArray(T.astype(int), hidden)):
        same_graph(as_graph_tensor(PATH, masked), expected)

    class Device:
        __cuda_array_interface__ = {}

        def __init__(self, array):
            self.get = lambda: array

    found = as_graph_tensor(Device(PATH), Device(T), Device(np.array([True, False, True, True])))
    same_graph(found, as_graph_tensor(PATH, T, np.array([True, False, True, True])))


def test_times():
    found = as_graph_tensor(PATH, T, times=["2005-09-06", "2005-09-07", "2005-09-08"])
    assert found.times.tolist() == [1125964800, 1126051200, 1126137600] and found.times.dtype == np.int64
    assert as_graph_tensor(PATH, T[:, 0], times=[1, 2, 3]).times.tolist() == [1, 2, 3]
    assert as_graph_tensor(PATH, T[:, 0, 0], times=[9]).times.tolist() == [9]
    cut = as_graph_tensor(PATH, T.reshape(4, 6), slice_shape=(2, 3), times=np.arange(6))
    assert cut.times.tolist() == [[0, 1, 2], [3, 4, 5]]
    again = as_graph_tensor(PATH, cut.tensor, times=cut.times)
    assert np.array_equal(again.times, cut.times)
    with pytest.raises(DataError, match=r"times has the shape \(2,\); .*\(3,\)"):
        as_graph_tensor(PATH, T, times=[1, 2])
    with pytest.raises(DataError, match=r"times has the shape \(4,\); .*\(1,\)"):
        as_graph_tensor(PATH, T[:, 0, 0], times=[1, 2, 3, 4])
