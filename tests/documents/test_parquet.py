"""Documents in Parquet: features, queries, weights; errors give the row."""

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import scipy.sparse

from gpukit.documents import Documents, read_letor, write_letor
from gpukit.documents.read import is_letor
from gpukit.errors import DataError, ParameterError
from gpukit.io import tables

X = np.array([[1, 2], [3, 4], [5, 6], [7, 8], [9, 10]], dtype=float)
Y, QID = [2, 0, 1, 1, 0], ["b", "b", "a", "a", "c"]


@pytest.fixture(params=[1, 2, 1 << 18])
def rows(request, monkeypatch):
    monkeypatch.setattr(tables, "BATCH", request.param)


def write(path, **columns):
    pyarrow.parquet.write_table(pyarrow.table(columns), path, row_group_size=2)
    return path


def documents(dtype=np.float64, **changes):
    made = Documents(X.astype(dtype), np.array(Y, float), np.array([0, 2, 4, 5]), np.array([5, -3, 2**40]))
    return made._replace(**changes)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("suffix", ["gkl", "parquet"])
def test_round_trip(tmp_path, rows, dtype, suffix):
    path = tmp_path / f"a.{suffix}"
    made = documents(dtype, weights=np.array([1, 0.5, 2]), comments=np.array(["x", "", "zoë", "", "y"]))
    for one in (made, made._replace(weights=None), made._replace(comments=None)):
        write_letor(one, path)
        back = read_letor(path)
        assert is_letor(path) and back.X.dtype == dtype
        for name in Documents._fields:
            left, right = getattr(back, name), getattr(one, name)
            assert (left is None) == (right is None) and (left is None or np.array_equal(left, right)), name


def test_features_in_columns(tmp_path, rows):
    found = read_letor(write(tmp_path / "a.parquet", query_id=QID, Relevance=Y, f2=X[:, 0], f1=X[:, 1]))
    assert np.array_equal(found.X, X) and found.X.flags.c_contiguous and found.y.tolist() == Y
    assert found.qids.tolist() == ["b", "a", "c"] and found.offsets.tolist() == [0, 2, 4, 5]


def test_width_and_dtype(tmp_path):
    path = write(tmp_path / "a.parquet", label=Y, qid=[1, 1, 2, 2, 3], a=X[:, 0].astype(int), b=X[:, 1] > 5)
    found = read_letor(path, n_features=3, dtype="float32")
    assert found.X.dtype == np.float32 and found.X.tolist() == [[a, b > 5, 0] for a, b in X.tolist()]
    assert read_letor(path).X.dtype == np.float64
    mixed = write(tmp_path / "b.parquet", label=Y, qid=QID, a=X[:, 0].astype(np.float32), b=X[:, 1] / 3)
    assert np.array_equal(read_letor(mixed).X[:, 1], X[:, 1] / 3)
    with pytest.raises(DataError, match="2 features where 1"):
        read_letor(path, n_features=1)


@pytest.mark.parametrize("null, filled", [("zero", [0, 2, 1, 0, 0]), ("min", [2, 2, 1, 1, 0])])
@pytest.mark.parametrize("missing", [None, np.finfo(np.float64).max])
def test_missing_features(tmp_path, rows, null, filled, missing):
    path = write(tmp_path / "a.parquet", label=Y, qid=QID, a=[missing, 2, 1, missing, missing], b=[1, 2, 3, 4, 5])
    assert read_letor(path, null=null).X.tolist() == [[a, b + 1] for b, a in enumerate(filled)]
    with pytest.raises(DataError, match="row 1 has no feature's value .*--null"):
        read_letor(path)


GOOD = {"label": Y, "qid": QID, "a": X[:, 0]}


@pytest.mark.parametrize(
    "columns, message",
    [
        ({**GOOD, "label": [1, None, 2, 3, 4]}, "row 2 has no label"),
        ({**GOOD, "qid": ["a", "a", "b", None, "c"]}, "row 4 has no query id"),
        ({**GOOD, "qid": [1, 1, 2, 1, 3]}, "row 4: query 1 comes back"),
        ({**GOOD, "a": list("abcde")}, "holds string, not numbers"),
        ({**GOOD, "a": [1, 2, np.inf, 4, 5]}, "row 3 has a feature that is not finite in float64: 'a' is inf"),
        ({**GOOD, "label": [1, np.nan, 2, 3, 4]}, "row 2 has no label"),
        ({**GOOD, "weight": [1, 1, 2, 3, 1]}, "row 4: the weight is not that .* query a.* into a file FILE.weight"),
        ({**GOOD, "b": list("vwxyz")}, "the column of the feature 'b' holds string, not numbers"),
        ({**GOOD, "weight": [1, 1, -2, -2, 1]}, "row 3 has the weight -2"),
        ({**GOOD, "a": X.tolist()}, "feature 'a' holds list<.*>, not numbers. Give each number of a list a column"),
        ({"label": Y, "qid": QID}, "documents need label"),
        ({"label": Y, "b": QID, "a": X[:, 0]}, "documents need label"),
        ({name: pyarrow.array([], pyarrow.float64()) for name in GOOD}, "holds no documents"),
    ],
)
def test_refused(tmp_path, rows, columns, message):
    path = write(tmp_path / "a.parquet", **columns)
    with pytest.raises(DataError, match=message) as caught:
        read_letor(path)
    assert "\n" not in str(caught.value)


def test_what_is_no_file_of_documents(tmp_path):
    assert not is_letor(write(tmp_path / "a.parquet", user=[1], item=[2], rating=[3]))
    assert not is_letor(write(tmp_path / "a.parquet", label=[1], item=[2]))


def test_what_a_format_has_no_place_for(tmp_path):
    with pytest.raises(ParameterError, match="no place for the weights"):
        write_letor(documents(weights=np.ones(3)), tmp_path / "a.txt")
    with pytest.raises(ParameterError, match="Sparse features have no place"):
        write_letor(documents(X=scipy.sparse.csr_matrix(X)), tmp_path / "a.parquet")
    assert not list(tmp_path.iterdir())


def test_columns_that_hold_something_else(tmp_path):
    names = pyarrow.array(["a", "b", "a"])
    for columns, message in (
        ({"qid": [[1], [1], [2]], "f": [1.0, 2.0, 3.0]}, "column of the query id holds list<.*>, not integers or text"),
        (
            {"qid": [1, 1, 2], "f": [1.0, 2, 3], "comment": [b"\xff", b"", b""]},
            "column of the comment holds binary, not text",
        ),
        (
            {"qid": [1, 1, 2], "f": names.dictionary_encode()},
            "column of the feature.* holds dictionary<.*>, not numbers",
        ),
    ):
        pyarrow.parquet.write_table(pyarrow.table({"label": [1, 0, 2], **columns}), tmp_path / "a.parquet")
        with pytest.raises(DataError, match=message):
            read_letor(tmp_path / "a.parquet")
