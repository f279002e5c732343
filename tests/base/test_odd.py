"""Difficult arguments of every public function.

The result is valid or a GpukitError of one line, never another exception or a crash.
"""

import copy

import numpy as np
import pandas
import pytest
import scipy.sparse

import gpukit
from base.test_contract import CASES, fitted  # noqa: F401  (a fixture)
from gpukit.documents import Documents, as_documents
from gpukit.errors import DataError, GpukitError, ParameterError
from gpukit.graphs import GraphTensor, as_graph_tensor
from gpukit.io.times import as_seconds
from gpukit.ratings import Ratings, as_ratings


def broken_csr(indices=(0, 1, 9), indptr=(0, 2, 1, 3)):
    """Return a CSR matrix (3, 3) with unchecked indices or pointers."""
    matrix = scipy.sparse.csr_matrix(np.eye(3))
    matrix.indices, matrix.indptr = np.array(indices, np.int32), np.array(indptr, np.int32)
    return matrix


def broken_coo():
    matrix = scipy.sparse.coo_matrix(np.eye(3))
    matrix.row = np.array([0, -1, 2**31 - 1], np.int32)
    return matrix


ODD = {
    "none": None,
    "a number": 3,
    "a huge number": 2**70,
    "huge numbers": [2**70, -(2**70)],
    "NaN": float("nan"),
    "NaNs": [float("nan"), 1.0],
    "text": "abc",
    "bytes": [b"\xff"],
    "nested": [[1, 2]],
    "ragged": [[1, 2], [3]],
    "deep": [[[1, 2]], [[3, 4]]],
    "a dict": {"a": 1},
    "objects": [object(), None],
    "dicts": [{}],
    "missing": [None, pandas.NA],
    "empty": [],
    "empty table": np.zeros((0, 3)),
    "no columns": np.zeros((3, 0)),
    "complex": np.array([[1j, 2], [3, 4]]),
    "dates": np.array(["2001-01-01", "NaT"], "M8[D]"),
    "records": np.zeros(3, dtype=[("a", "i4")]),
    "unsigned": np.array([2**64 - 1, 2**63], np.uint64),
    "half": np.array([[1, np.inf], [2, 3]], np.float16),
    "wide": np.array([[1, 2], [3, 4]], np.longdouble),
    "a triple": ([1, 2], [3], [4.0, 5.0]),
    "a triple of nests": ([[1]], [[2]], [[3]]),
    "a pair": ([1, 2], [3]),
    "masked": np.ma.MaskedArray([[1, 2], [3, 4]], mask=[[1, 0], [0, 1]]),
    "a frame": pandas.DataFrame({"a": [None, "x"], "b": [1, 2], "c": [[], {}]}),
    "a series": pandas.Series([1, None], dtype="Int64"),
    "indices beyond": broken_csr(indptr=(0, 1, 2, 3)),
    "indices below": broken_csr((0, -5, 1), (0, 1, 2, 3)),
    "pointers that fall": broken_csr((0, 1, 2)),
    "pointers beyond": broken_csr((0, 1, 2), (0, 1, 2, 2**31 - 1)),
    "coordinates beyond": broken_coo(),
    "a function": len,
    "a class": Ratings,
}
NONE = np.zeros(0)
ODD |= {
    "ratings of none": Ratings(None, None, None, None, None),
    "ratings of numbers": Ratings(1, 2, 3, 4, 5),
    "ratings of text": Ratings(*[np.array(["a"])] * 5),
    "ratings of nests": Ratings(*[np.zeros((2, 2), np.int32)] * 5),
    "documents of none": Documents(None, None, None, None),
    "documents of numbers": Documents(1, 2, 3, 4),
    "documents of text": Documents(*[np.array(["a"])] * 4),
    "documents of nothing": Documents(np.zeros((0, 0)), NONE, NONE, NONE),
    "documents, falling": Documents(np.ones((3, 2)), np.ones(3), np.array([0, 5, 3]), np.array([1, 2])),
    "documents, beyond": Documents(np.ones((3, 2)), np.arange(3.0), np.array([0, 2**40]), np.array([1])),
    "documents, broken": Documents(broken_csr(), np.ones(3), np.array([0, 3]), np.array([1])),
    "graph of none": GraphTensor(None, None, None),
    "graph of numbers": GraphTensor(1, 2, 3),
    "graph, broken": GraphTensor(broken_csr(), np.ones((3, 1, 1)), np.array([True, False, True])),
    "graph, misshapen": GraphTensor(scipy.sparse.csr_array(np.ones((3, 3))), np.ones((3, 1, 1)), np.ones(9, bool)),
}
Y = (None, [1, 2], "x", [[1], [2]], [float("nan"), 1], [None, None], ["a", "b"], 3, {}, np.array([1j, 2]))


def answered(work, *arguments, **more):
    """Call it; a GpukitError of one line is accepted."""
    try:
        work(*arguments, **more)
    except GpukitError as error:
        assert str(error) and "\n" not in str(error)


@pytest.mark.parametrize("case", ODD)
def test_tables_of_odd_things(case):
    for make in (as_ratings, as_documents):
        answered(make, ODD[case])
    for y in Y:
        answered(as_documents, ODD[case], y, y)
        answered(as_graph_tensor, ODD[case], y)
        answered(as_graph_tensor, y, ODD[case])
    answered(as_graph_tensor, np.ones((2, 2)) - np.eye(2), np.ones(2), mask=ODD[case])
    answered(as_graph_tensor, np.ones((2, 2)) - np.eye(2), np.ones(2), vertices=ODD[case])
    answered(as_graph_tensor, np.ones((2, 2)) - np.eye(2), np.ones(2), times=ODD[case])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", ODD)
@pytest.mark.parametrize("name", CASES)
def test_fit_takes_odd_things(name, case):
    model = copy.deepcopy(CASES[name].estimator)
    answered(model.fit, ODD[case])
    for y in Y:
        answered(model.fit, ODD[case], y)
    if name in ("RankSVM", "GraphImputer"):
        answered(model.fit, np.eye(2), [1, 2], ODD[case])


@pytest.mark.parametrize("case", ODD)
def test_fitted_models_are_asked_odd_things(case, fitted):  # noqa: F811
    odd = ODD[case]
    for name in ("MatrixFactorization", "LSHMF"):
        model = fitted[name]
        for work in (model.predict, model.evaluate, model.recommend, model.similar_items):
            answered(work, odd)
        answered(model.predict, (odd, odd))
        answered(model.evaluate, odd, [1.0, 2.0])
        answered(model.recommend, None, odd)
    for work in (fitted["RankSVM"].predict, fitted["RankSVM"].rank, fitted["RankSVM"].score):
        answered(work, odd)
        answered(work, odd, odd)
    answered(fitted["GraphImputer"].transform, odd)
    answered(fitted["GraphImputer"].transform, odd, odd)


def test_huge_ids_are_unknown_and_missing_ones_refused(fitted):  # noqa: F811
    model = fitted["MatrixFactorization"]
    unknown = model.recommend(["nobody"], n=3, unknown="popular")
    for user in (2**70, -(2**63) - 1, np.uint64(2**63 + 100)):
        for one, other in zip(model.recommend([user], n=3, unknown="popular"), unknown, strict=True):
            np.testing.assert_array_equal(one, other)
    for users, message in (
        ([[1, 2]], "must be text or whole numbers"),
        ([np.nan], "Row 1 has no user id"),
        ([None], "Row 1"),
        (np.ma.array([7, 8], mask=[False, True]), "Row 2 has no user id"),
        ({7}, "must be text or whole numbers"),
        (iter([7]), "must be text or whole numbers"),
        ([7.5], "not a whole number"),
        ([1e300], "1e\\+300 is a float64, which rounds whole numbers"),
    ):
        with pytest.raises(gpukit.errors.DataError, match=message):
            model.recommend(users)
    with pytest.raises(gpukit.errors.DataError, match="Row 2 has no item id"):
        model.predict(([1, 2], [3, np.nan]))
    with pytest.raises(gpukit.errors.DataError, match="does not know item 1180591620717411303424"):
        model.similar_items(2**70)


RAGGED = [[1], [2, 3]]


@pytest.mark.parametrize("times", [RAGGED, "abc", 3.0, {"a": 1}, np.zeros(60, "V4"), np.zeros((2, 30))], ids=str)
def test_times_that_are_no_column(times):
    with pytest.raises(DataError, match="times"):
        as_seconds(times)


@pytest.mark.parametrize("name", ["times", "counts"])
@pytest.mark.parametrize("column", [RAGGED, "abc", {"a": 1}], ids=str)
def test_columns_of_ratings_that_are_none(name, column):
    one = np.array([1, 2])
    with pytest.raises(DataError, match=name):
        gpukit.as_ratings(gpukit.Ratings(one - 1, one - 1, one.astype(np.float32), one, one, **{name: column}))


@pytest.mark.parametrize("name", ["tensor", "mask", "truth", "times"])
def test_parts_of_a_graph_tensor_that_are_no_arrays(name):
    data = gpukit.synth_graph(vertices=6, shape=(2, 3), rank=1)
    with pytest.raises(DataError, match=f"GraphTensor.{name} must be an array; got list"):
        gpukit.GraphImputer(device="cpu").fit(data._replace(**{name: RAGGED}))


@pytest.mark.parametrize("name", ["weights", "center", "method", "metric"])
def test_choices_that_are_arrays(name):
    with pytest.raises(ParameterError, match=f"{name} must be one of"):
        gpukit.GraphImputer(**{name: np.ones(3)}, device="cpu").check()


def test_comments_that_are_none():
    documents = gpukit.synth_letor("mq2008", 0.01)
    with pytest.raises(DataError, match="comments"):
        gpukit.RankSVM(device="cpu").fit(documents._replace(comments=RAGGED))
