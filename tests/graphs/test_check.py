"""Graph tensors created by hand: invalid ones are rejected in one line before use."""

import numpy as np
import pytest
import scipy.sparse

from gpukit import GraphImputer
from gpukit.errors import DataError
from gpukit.graphs import GraphTensor, as_graph_tensor, write_graph
from gpukit.graphs.adopt import validate_tensor

RING = scipy.sparse.csr_array(np.roll(np.eye(5), 1, 0) + np.roll(np.eye(5), -1, 0))
TENSOR = np.arange(30.0).reshape(5, 2, 3)


def forged(name, place, value):
    """Return the ring with another number in one of its arrays."""
    graph = RING.copy()
    broken = getattr(graph, name).copy()
    broken[place] = value
    setattr(graph, name, broken)
    return graph


MADE = as_graph_tensor(RING, TENSOR, vertices=np.array(list("abcde")), truth=TENSOR, times=[1, 2, 3])
WRONG = {
    "no graph": (dict(adjacency=None), "adjacency in CSR; got NoneType"),
    "a dense graph": (dict(adjacency=RING.toarray()), "adjacency in CSR; got ndarray"),
    "a vertex beyond": (dict(adjacency=forged("indices", 3, 5)), r"adjacency.indices\[3\] is 5"),
    "a vertex below": (dict(adjacency=forged("indices", 0, -1)), r"adjacency.indices\[0\] is -1"),
    "pointers that fall": (dict(adjacency=forged("indptr", 2, 0)), "less than what comes before"),
    "a weight of NaN": (dict(adjacency=forged("data", 0, np.nan)), "weight between vertices"),
    "one direction": (dict(adjacency=forged("data", 0, 7)), "not symmetric"),
    "a vertex short": (dict(tensor=TENSOR[:4]), r"tensor must have the shape \(5, n, n\)"),
    "two axes": (dict(tensor=TENSOR[0]), "tensor must have the shape"),
    "whole numbers": (dict(tensor=TENSOR.astype(int)), "tensor must be an array of float32 or float64"),
    "NaN": (dict(tensor=np.where(TENSOR == 7, np.nan, TENSOR)), r"tensor\[1, 0, 1\] is nan"),
    "a mask of numbers": (dict(mask=np.ones(5)), "mask must be an array of bool"),
    "a mask too long": (dict(mask=np.ones(6, bool)), "mask must have the shape"),
    "a mask of another shape": (dict(mask=np.ones((5, 3, 2), bool)), "mask must have the shape"),
    "ids twice": (dict(vertices=np.array(list("abcda"))), "vertices has a twice"),
    "ids too few": (dict(vertices=np.array(list("abcd"))), "must be 5 ids"),
    "a short truth": (dict(truth=TENSOR[:, :1]), "truth must have the shape"),
    "times too few": (dict(times=np.array([1, 2])), "times must have the shape"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_by_hand(case, tmp_path):
    changes, message = WRONG[case]
    data = MADE._replace(**changes)
    asked = (validate_tensor, lambda data: write_graph(tmp_path / "a.npz", data), GraphImputer(device="cpu").prepare)
    for work in asked:
        with pytest.raises(DataError, match=message) as caught:
            work(data)
        assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("shape", [(5,), (5, 4), (5, 2, 3)])
def test_sound_ones_pass(shape):
    for made in (as_graph_tensor(RING, np.ones(shape)), as_graph_tensor(RING, np.ones(shape), mask=[1, 0, 1, 1, 1])):
        again = validate_tensor(made)
        assert all(one is other for one, other in zip(made[1:], again[1:], strict=True))
        assert (again.adjacency != made.adjacency).nnz == 0
    rows = as_graph_tensor(RING, np.ones((5, 6)), slice_shape=(2, 3), times=np.arange(6))
    assert validate_tensor(rows).times.shape == (2, 3) and isinstance(rows, GraphTensor)
