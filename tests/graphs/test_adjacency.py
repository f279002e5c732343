"""All forms of a graph become one adjacency; Laplacians; error messages."""

import subprocess
import sys

import networkx
import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csgraph

from gpukit.errors import DataError
from gpukit.graphs.adjacency import as_adjacency, degrees, laplacian, normalized_laplacian
from graphs import naive

A = naive.random_graph(12, 0.4, 3)
A[5] = A[:, 5] = 0  # isolated
EDGES = np.argwhere(np.triu(A))
WEIGHTS = A[tuple(EDGES.T)]


def networkx_graph():
    graph = networkx.Graph()
    graph.add_nodes_from(range(12))
    graph.add_weighted_edges_from((*edge, weight) for edge, weight in zip(EDGES.tolist(), WEIGHTS.tolist()))
    return graph


FORMS = {
    "dense": lambda: A,
    "nested list": lambda: A.tolist(),
    "csr": lambda: sparse.csr_matrix(A),
    "coo in parts": lambda: sparse.coo_array((np.r_[A[A > 0], A[A > 0]] / 2, np.tile(np.nonzero(A), 2)), (12, 12)),
    "csc with stored zeros": lambda: sparse.csc_array(A + np.eye(12)) - sparse.csc_array(np.eye(12)),
    "networkx": networkx_graph,
    "edges": lambda: (EDGES, WEIGHTS),
    "edges the other way": lambda: (EDGES[::-1, ::-1], WEIGHTS[::-1]),
    "edges in both directions": lambda: (np.vstack((EDGES, EDGES[:, ::-1])), np.r_[WEIGHTS, WEIGHTS]),
    "edges and self-loops": lambda: (np.vstack((EDGES, [[2, 2], [5, 5]])), np.r_[WEIGHTS, 7, 1]),
    "dense with self-loops": lambda: A + np.diag(np.arange(12.0)),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_the_same_adjacency(form):
    found = as_adjacency(FORMS[form]())
    assert isinstance(found, sparse.csr_array) and found.dtype == np.float64 and found.has_canonical_format
    assert np.array_equal(found.toarray(), A) and found.nnz == np.count_nonzero(A)
    expected = as_adjacency(A)
    for name in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(found, name), getattr(expected, name))


def test_edges_without_weights_and_whole_numbers():
    expected = (A > 0).astype(float)
    for graph in (
        EDGES,
        EDGES.tolist(),
        (EDGES, None),
        EDGES.astype(float),
        (A > 0),
        sparse.csr_array(A > 0),
        (A > 0).astype(np.int8),
    ):
        assert np.array_equal(as_adjacency(graph).toarray(), expected)


def test_a_pair_of_edges_and_a_two_by_two_adjacency():
    assert np.array_equal(as_adjacency([[0, 3], [3, 0]]).toarray(), [[0, 3], [3, 0]])
    two = as_adjacency((np.array([[0, 1], [1, 2]]), None))
    assert np.array_equal(two.toarray(), naive.path_graph(3))


def test_a_list_can_have_more_vertices_than_it_names():
    assert as_adjacency((EDGES, WEIGHTS), vertices=15).shape == (15, 15)
    with pytest.raises(DataError, match="names vertex 11, but the vertices are 0 to 9"):
        as_adjacency(EDGES, vertices=10)


def test_networkx_is_never_imported():
    code = "import sys, numpy; from gpukit.graphs.adjacency import as_adjacency as f; f(numpy.ones((3, 3)))"
    subprocess.run([sys.executable, "-c", f"{code}; assert 'networkx' not in sys.modules"], check=True)


def test_a_directed_networkx_graph_has_to_be_symmetric():
    with pytest.raises(DataError, match="not symmetric"):
        as_adjacency(networkx.DiGraph([(0, 1), (1, 2)]))
    both = as_adjacency(networkx.DiGraph([(0, 1), (1, 0), (1, 2), (2, 1)]))
    assert np.array_equal(both.toarray(), naive.path_graph(3))


@pytest.mark.parametrize("weighted", [True, False])
def test_laplacians(weighted):
    dense = A if weighted else (A > 0).astype(float)
    adjacency = as_adjacency(dense)
    L = normalized_laplacian(adjacency)
    assert isinstance(L, sparse.csr_array) and L.dtype == np.float64 and L[5, 5] == 0
    assert np.allclose(L.toarray(), naive.normalized_laplacian(dense), rtol=0, atol=1e-15)
    assert np.allclose(L.toarray(), csgraph.laplacian(dense, normed=True), rtol=0, atol=1e-15)
    theirs = networkx.normalized_laplacian_matrix(networkx.from_numpy_array(dense)).toarray()
    assert np.allclose(L.toarray(), theirs, rtol=0, atol=1e-15)
    assert np.array_equal(L.toarray(), L.toarray().T)
    assert np.allclose(laplacian(adjacency).toarray(), naive.laplacian(dense), rtol=0, atol=1e-14)
    assert np.allclose(degrees(adjacency), dense.sum(axis=0))


def test_more_than_rounding_is_asymmetry():
    matrix = np.array([[0, 1.0, 2], [1, 0, 0], [2, 0, 0]])
    matrix[0, 1] *= 1 + 1e-5
    with pytest.raises(DataError, match="weight from vertex 0 to 1 is 1.00001"):
        as_adjacency(matrix)


def test_rounding_is_no_asymmetry():
    rough = A * (1 + 1e-8 * np.random.default_rng(0).standard_normal(A.shape))
    found = as_adjacency(rough).toarray()
    assert np.array_equal(found, found.T) and np.allclose(found, A, rtol=1e-7)


def test_inputs_are_not_changed():
    graph = sparse.csr_array(A + np.diag(np.ones(12)))
    before = graph.copy()
    edges, weights = np.vstack((EDGES, EDGES[:, ::-1])), np.r_[WEIGHTS, WEIGHTS]
    copies = edges.copy(), weights.copy()
    as_adjacency(graph), as_adjacency((edges, weights))
    assert (graph != before).nnz == 0 and graph.nnz == before.nnz
    assert np.array_equal(edges, copies[0]) and np.array_equal(weights, copies[1])


def changed(i, j, value):
    B = A.copy()
    B[i, j] = value
    return B


def both(i, j, value):
    B = changed(i, j, value)
    B[j, i] = value
    return B


LINE = naive.path_graph(4)[:3]
REFUSED = {
    "not square": (LINE, r"must be square; its shape is \(3, 4\)"),
    "three axes": (np.ones((2, 2, 2)), "must be square"),
    "empty": (np.empty((0, 0)), "no vertices"),
    "asymmetric": (changed(1, 0, 9.0), "not symmetric: the weight from vertex 0 to 1 is .*, from 1 to 0 it is 9. "),
    "one direction": (sparse.csr_array(np.eye(3, k=1)), "from vertex 0 to 1 is 1, from 1 to 0 it is 0"),
    "negative": (both(2, 4, -1.5), "between vertices 2 and 4 is -1.5; weights must be finite and not negative"),
    "NaN": (both(2, 4, np.nan), "between vertices 2 and 4 is nan"),
    "infinite": (both(2, 4, np.inf), "between vertices 2 and 4 is inf"),
    "a sum beyond float64": (both(2, 4, 1.7e308), "weights of vertex 2 add up to more than float64 holds"),
    "a list beyond float64": (([[0, 1], [1, 2]], [1e308, 1e308]), "weights of vertex 0 add up to more"),
    "negative self-loop": (changed(3, 3, -1.0), "between vertices 3 and 3 is -1"),
    "self-loops only": (np.eye(3), "no edges but self-loops"),
    "self-loops only, listed": (np.array([[0, 0], [1, 1], [2, 2]]), "no edges but self-loops"),
    "no edges": (np.zeros((3, 3)), "the graph has no edges: "),
    "no edges listed": ((np.empty((0, 2), dtype=int), None), "the graph has no edges: "),
    "text": (np.array([["a", "b"], ["b", "a"]]), "not numbers"),
    "ragged": ([[0, 1], [1]], "is no array"),
    "complex": (np.array([[0, 1j], [1j, 0]]), "complex128, not numbers"),
    "complex, sparse": (sparse.csr_array(np.array([[0, 1j], [1j, 0]])), "weights are real numbers"),
    "weights too few": ((EDGES, WEIGHTS[1:]), "edges, but the weights have the shape"),
    "negative vertex": (np.array([[0, 1], [-1, 2], [0, 2]]), r"edge 1 is \[-1, 2\]"),
    "half a vertex": (np.array([[0, 1], [1.5, 2], [0, 2]]), r"edge 1 is \[1.5, 2.0\]"),
    "negative weight listed": (([[0, 1], [1, 2]], [1, -2]), "between vertices 1 and 2 is -2"),
    "NaN listed": (([[0, 1], [2, 1]], [1, np.nan]), "between vertices 1 and 2 is nan"),
    "two weights": (([[0, 1], [1, 2], [2, 1]], [1, 2, 3]), "between vertices 1 and 2 has the weight 2 and, .* 3. "),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    graph, words = REFUSED[case]
    with pytest.raises(DataError, match=words) as caught:
        as_adjacency(graph)
    assert "\n" not in str(caught.value)


def test_an_empty_networkx_graph():
    with pytest.raises(DataError, match="no vertices"):
        as_adjacency(networkx.Graph())


def test_errors_call_the_vertices_by_their_ids():
    names = np.array([f"v{i}" for i in range(12)])
    for graph, words in (
        (changed(1, 0, 9.0), "from vertex v0 to v1"),
        (both(2, 4, -1.0), "vertices v2 and v4"),
        (([[0, 1], [1, 0]], [1, 2]), "between vertices v0 and v1 has the weight 1"),
    ):
        with pytest.raises(DataError, match=words):
            as_adjacency(graph, names=names)


@pytest.mark.parametrize("weight", ["heavy", (1, 2)])
def test_a_networkx_weight_that_is_no_number_is_refused(weight):
    graph = networkx.Graph([(0, 1), (1, 2)])
    graph.edges[0, 1]["weight"] = weight
    with pytest.raises(DataError, match="the weight of an edge of the graph is not a number"):
        as_adjacency(graph)
