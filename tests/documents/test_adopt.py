"""as_documents: arrays and frames become Documents; inconsistent ones are rejected in one line."""

import numpy as np
import pandas
import pyarrow
import pytest
import scipy.sparse

from gpukit.documents import Documents, as_documents, take_queries
from gpukit.errors import DataError
from gpukit.io import trust

X = np.arange(12.0).reshape(6, 2)
Y = [2, 0, 1, 1, 0, 3]
QID = [7, 3, 7, 7, 9, 3]
ORDER = [0, 2, 3, 1, 5, 4]  # queries 7, 3, 9
FRAME = pandas.DataFrame({"a": X[:, 0], "rel": Y, "b": X[:, 1], "q": QID})


def assert_documents(found, x=X, qids=(7, 3, 9)):
    assert np.array_equal(found.X, x[ORDER]) and found.y.tolist() == [Y[at] for at in ORDER]
    assert found.offsets.dtype == np.int64 and found.offsets.tolist() == [0, 3, 5, 6]
    assert found.qids.tolist() == list(qids) and found.y.dtype == np.float64


def test_queries_are_brought_together():
    found = as_documents(X, Y, QID, weights=[1, 2, 0.5], comments=list("abcdef"))
    assert_documents(found)
    assert found.weights.tolist() == [1, 2, 0.5] and found.comments.tolist() == list("acdbfe")
    assert_documents(as_documents(X, Y, [f"q{one}" for one in QID]), qids=("q7", "q3", "q9"))
    together = as_documents(X, Y, [5, 5, 2, 2, 2, 4])
    assert np.array_equal(together.X, X) and together.qids.tolist() == [5, 2, 4]


def test_groups():
    found = as_documents(X, Y, group=[3, 2, 1])
    assert np.array_equal(found.X, X) and found.offsets.tolist() == [0, 3, 5, 6] and found.qids.tolist() == [1, 2, 3]


@pytest.mark.parametrize("given, kept", [("float32", "float32"), ("float64", "float64"), ("int8", "float64")])
def test_dtypes(given, kept):
    for form in (np.array, np.asfortranarray, scipy.sparse.csc_array, pandas.DataFrame):
        found = as_documents(form(X.astype(given)), Y, QID)
        dense = found.X.toarray() if scipy.sparse.issparse(found.X) else found.X
        assert found.X.dtype == kept and np.array_equal(dense, X[ORDER]), form
        assert scipy.sparse.issparse(found.X) or found.X.flags.c_contiguous


def test_sparse_with_duplicates():
    matrix = scipy.sparse.csr_array((np.array([1.0, 2.0, 5.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    found = as_documents(matrix, [0, 1], group=[2]).X
    assert found.toarray().tolist() == [[0, 3], [5, 0]] and found.data.tolist() == [3, 5] and matrix.nnz == 3


def test_frames():
    assert_documents(as_documents(FRAME[["a", "b"]], FRAME.rel, FRAME.q))
    nullable = FRAME.convert_dtypes()
    assert_documents(as_documents(nullable[["a", "b"]], nullable.rel, nullable.q))
    assert_documents(as_documents(pyarrow.table(FRAME[["a", "b"]]), Y, QID))
    assert_documents(as_documents(FRAME[["a", "b"]], FRAME.rel, FRAME.q.astype("string")), qids=("7", "3", "9"))


def test_csr_may_have_more_than_it_uses():
    matrix = scipy.sparse.csr_array(X)
    used = len(matrix.data)
    matrix.data, matrix.indices = np.append(matrix.data, np.nan), np.append(matrix.indices, np.int32(0))
    made = Documents(matrix, np.array(Y, float), np.array([0, 6]), np.array([1]))
    assert as_documents(made).X.indptr[-1] == used < len(matrix.data)


def test_a_frame_of_two_precisions_is_double():
    frame = pandas.DataFrame({"a": np.array([1, 2], np.float32), "b": [1 / 3, 2 / 3]})
    found = as_documents(frame, [0, 1], group=[2]).X
    assert found.dtype == np.float64 and found[:, 1].tolist() == [1 / 3, 2 / 3]


def test_by_hand_and_weights_go_along():
    made = as_documents(X, Y, QID, weights=[1, 2, 0.5])
    assert as_documents(made) is made
    taken = take_queries(made, [2, 0])
    assert taken.weights.tolist() == [0.5, 1] and taken.qids.tolist() == [9, 7]
    assert take_queries(made._replace(weights=None), [1]).weights is None


def holes(row, column, value=np.nan):
    array = X.copy()
    array[row, column] = value
    return array


REFUSED = {
    "NaN": (dict(X=holes(4, 1)), r"X\[5, 1\] is NaN"),
    "masked": (dict(X=np.ma.MaskedArray(X, mask=X == 0)), r"X\[0, 0\] is NaN"),
    "infinity first in its row": (dict(X=scipy.sparse.csr_array(holes(4, 0, np.inf))), r"X\[5, 0\] is inf"),
    "infinity in CSR": (dict(X=scipy.sparse.csr_array(holes(3, 1, np.inf))), r"X\[2, 1\] is inf"),
    "NA in a frame": (
        dict(X=FRAME[["a", "b"]].astype("Float64").replace(4.0, pandas.NA)),
        "Row 3 has no value of feature 'a'",
    ),
    "text": (dict(X=FRAME.assign(a="x")[["a", "b"]]), "Column 'a' of X holds no numbers"),
    "text array": (dict(X=np.array([["a"]] * 6)), "X must hold numbers"),
    "one axis": (dict(X=X[:, 0]), r"X must be a table.*\(6,\)"),
    "no features": (dict(X=X[:, :0]), r"X must be a table.*\(6, 0\)"),
    "no documents": (dict(X=X[:0], y=[], qid=[]), "There are no documents: X has 0 rows"),
    "no groups": (dict(X=X[:0], y=[], qid=None, group=np.zeros(0, int)), "There are no documents"),
    "no y": (dict(y=None), "need a relevance"),
    "short y": (dict(y=[1, 2]), r"6; its shape is \(2,\)"),
    "y NaN": (dict(y=[1, 2, 3, np.nan, 5, 6]), r"y\[3\] is nan"),
    "y text": (dict(y=list("abcdef")), "y must be numbers"),
    "y NA": (
        dict(y=pandas.Series([1, 2, 3, None, 5, 6], dtype="Int64")),
        r"y\[3\] is nan: every document needs a relevance",
    ),
    "neither": (dict(qid=None), "Neither qid nor group"),
    "both": (dict(group=[6]), "Both qid and group"),
    "short qid": (dict(qid=[1, 2]), r"one query id a document, 6; it has shape \(2,\)"),
    "qid NA": (dict(qid=pandas.Series([1, None, 3, 3, 5, 6], dtype="Int64")), "Row 2 has no query id"),
    "qid NaN": (dict(qid=[1, np.nan, 3, 3, 5, 6]), "Row 2 has no query id"),
    "groups": (dict(qid=None, group=[3, 2]), "add up to 6; they add up to 5"),
    "groups with fractions": (dict(qid=None, group=[3.5, 2.5]), "dtype float64"),
    "weights": (dict(weights=[1, 2]), r"weights has the shape \(2,\); \(3,\)"),
    "a negative weight": (dict(weights=[1, -2, 1]), r"weights\[1\] is -2"),
    "an infinite weight": (dict(weights=[1, np.inf, 1]), r"weights\[1\] is inf"),
    "comments": (dict(comments=["a"]), r"one text a document, 6; its shape is \(1,\)"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    changes, message = REFUSED[case]
    with pytest.raises(DataError, match=message) as caught:
        as_documents(**{"X": X, "y": Y, "qid": QID, **changes})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "changes, message",
    [
        (dict(offsets=np.array([0, 2, 5])), "do not cut their 6 documents"),
        (dict(offsets=np.array([1, 2, 6])), "do not cut"),
        (dict(offsets=np.array([0, 0, 6])), "do not cut"),
        (dict(offsets=np.array([0, 6])), "into 2 queries"),
        (dict(qids=np.array([4, 4])), "names a query twice"),
        (dict(y=np.zeros(5)), r"Documents.y has the shape \(5,\)"),
    ],
)
def test_wrong_by_hand(changes, message):
    made = Documents(X, np.zeros(6), np.array([0, 4, 6]), np.array([4, 5]))
    assert as_documents(made) is made
    with pytest.raises(DataError, match=message):
        as_documents(made._replace(**changes))


def test_rows_are_matched_by_their_labels():
    y, qid = pandas.Series(Y), pandas.Series(QID)
    for found in (
        as_documents(FRAME[["a", "b"]], y[::-1], qid.sample(frac=1, random_state=1)),
        as_documents(pyarrow.table(FRAME[["a", "b"]]).to_pandas(), Y, qid[::-1]),
        as_documents(FRAME[["a", "b"]], y[::-1], QID),
    ):
        assert_documents(found)
    with pytest.raises(DataError, match="labels"):
        as_documents(FRAME[["a", "b"]], y.set_axis(range(6, 12)), qid)


def count_calls(monkeypatch, home, name):
    """Return a list that grows with each call of a module's function."""
    calls, function = [], getattr(home, name)
    monkeypatch.setattr(home, name, lambda *arguments: calls.append(arguments) or function(*arguments))
    return calls


def test_sparse_features_are_checked_once(monkeypatch):
    calls = count_calls(monkeypatch, trust, "check_compressed")
    as_documents(scipy.sparse.csr_array(X), Y, QID)
    assert len(calls) == 1
    as_documents(as_documents(X, Y, QID)._replace(X=scipy.sparse.csr_array(X)))
    assert len(calls) == 2


def test_forged_sparse_features_are_refused():
    lists = scipy.sparse.lil_array((6, 2))
    lists.rows[3], lists.data[3] = [2], [1.0]  # a third column
    forged = scipy.sparse.csr_array(X)
    forged.indices[4] = 2
    for matrix in (lists, forged):
        with pytest.raises(DataError, match=r"X.indices\[\d+\] is 2, beyond 0 to 1"):
            as_documents(matrix, Y, QID)
    with pytest.raises(DataError, match=r"X.indices\[4\] is 2, beyond 0 to 1"):
        as_documents(as_documents(X, Y, QID)._replace(X=forged))


def test_an_empty_query_id_is_refused_as_in_files():
    with pytest.raises(DataError, match=r"^Row 3 has no query id"):
        as_documents(X, Y, ["7", "3", "", "7", "9", "3"])
