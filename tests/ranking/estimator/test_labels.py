"""Frames, nullable and masked columns, arrays on a GPU, weights of documents: matching of rows."""

import numpy as np
import pandas
import pytest
import scipy.sparse
from base.inputs import OnDevice

from gpukit import RankSVM
from gpukit.documents import Documents
from gpukit.errors import DataError
from ranking.data import make


def fitted(*data, **more):
    return RankSVM(C=1.0, device="cpu").fit(*data, **more)


@pytest.fixture(scope="module")
def at():
    return make()


@pytest.fixture(scope="module")
def expected(at):
    return fitted(at.X, at.y, at.qid)


@pytest.fixture(scope="module")
def chosen(at):
    return RankSVM(device="cpu").fit(at.X, at.y, at.qid).chosen_


def framed(at):
    """Return (X, y, qid) as pandas objects, y and qid in other orders than X."""
    rng, index = np.random.default_rng(0), [f"doc{i}" for i in range(len(at.y))]
    X = pandas.DataFrame(at.X, index, list("abcde"))
    y, qid = pandas.Series(at.y, index).sample(frac=1, random_state=1), pandas.Series(at.qid, index)
    return X, y, qid.iloc[rng.permutation(len(index))]


@pytest.mark.slow
def test_columns_in_other_orders_are_matched(at, expected):
    X, y, qid = framed(at)
    assert y.index.tolist() != X.index.tolist() != qid.index.tolist()
    model = fitted(X, y, qid)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert model.score(X, y, qid) == expected.score(at.X, at.y, at.qid)
    np.testing.assert_array_equal(model.rank(X, qid), expected.rank(at.X, at.qid))


@pytest.mark.parametrize("which", ["y", "qid"])
def test_other_labels_are_refused(at, which):
    X, y, qid = framed(at)
    wrong = {"y": y, "qid": qid}
    wrong[which] = wrong[which].reset_index(drop=True)
    with pytest.raises(DataError, match=f"labels .* of {which} are not those of X.*to_numpy"):
        fitted(X, **wrong)


def test_nullable_and_masked_columns(at, expected):
    X = pandas.DataFrame(at.X, columns=list("abcde")).convert_dtypes(convert_floating=True, convert_integer=False)
    y, qid = pandas.Series(at.y).astype("Float64"), pandas.Series(at.qid).astype("Int64")
    assert str(X.dtypes.iloc[0]) == "Float64"
    np.testing.assert_array_equal(fitted(X, y, qid).coef_, expected.coef_)
    np.testing.assert_array_equal(fitted(np.ma.array(at.X), np.ma.array(at.y), at.qid).coef_, expected.coef_)


def hidden(values):
    """Return a masked array that hides number 3."""
    return np.ma.array(values, mask=np.arange(values.size).reshape(values.shape) == 3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda at: (hidden(at.X), at.y, at.qid), r"X\[0, 3\] is NaN"),
        (lambda at: (at.X, hidden(at.y), at.qid), r"y\[3\] is nan"),
        (lambda at: (at.X, at.y, hidden(at.qid)), "Row 4 has no query id"),
        (lambda at: (at.X, at.y, pandas.Series([None, *at.qid[1:]], dtype="Int64")), "Row 1 has no query id"),
        (lambda at: (at.X, at.y, ["a", None, *map(str, at.qid[2:])]), "Row 2 has no query id"),
        (lambda at: (at.X + 1j, at.y, at.qid), "Complex data not supported"),
        (lambda at: (scipy.sparse.csr_array(at.X + 1j), at.y, at.qid), "Complex data not supported"),
    ],
)
def test_what_is_missing_is_refused(at, change, words):
    with pytest.raises(DataError, match=words):
        fitted(*change(at))


@pytest.mark.parametrize("way", ["cupy", "torch"])
def test_arrays_on_a_gpu(at, expected, chosen, way):
    data = [OnDevice(array, way) for array in (at.X, at.y, at.qid)]
    model = fitted(*data)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    np.testing.assert_array_equal(model.predict(data[0]), expected.predict(at.X))
    assert RankSVM(device="cpu").fit(*data).chosen_ == chosen


@pytest.mark.slow
def test_weights_of_documents(at):
    rows = np.random.default_rng(3).permutation(len(at.y))
    X, y, qid = at.taken(rows)
    weights = {q: 0.5 + k for k, q in enumerate(np.unique(qid).tolist())}
    by_id = fitted(X, y, qid, query_weight=weights).coef_
    by_document = np.array([weights[q] for q in qid.tolist()])
    np.testing.assert_array_equal(fitted(X, y, qid, query_weight=by_document).coef_, by_id)
    np.testing.assert_array_equal(fitted(X, y, qid, query_weight=pandas.Series(weights)).coef_, by_id)
    frame = pandas.DataFrame(X)
    order = pandas.Series(by_document).sample(frac=1, random_state=0)
    np.testing.assert_array_equal(fitted(frame, y, qid, query_weight=order).coef_, by_id)
    by_document[7] += 1
    with pytest.raises(DataError, match=f"query_weight differs within query {qid[7]}: "):
        fitted(X, y, qid, query_weight=by_document)


@pytest.mark.slow
def test_documents_with_weights_by_id(at):
    documents = Documents(at.X, at.y, at.offsets, at.qid[at.offsets[:-1]])
    weights = {q: 0.5 + k for k, q in enumerate(np.unique(at.qid).tolist())}
    expected = fitted(at.X, at.y, at.qid, query_weight=weights)
    found = fitted(documents, query_weight=pandas.Series(weights))
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    own = documents._replace(weights=np.array([weights[q] for q in documents.qids.tolist()]))
    np.testing.assert_array_equal(fitted(own).coef_, expected.coef_)
    plain = fitted(documents).coef_
    assert not np.array_equal(plain, expected.coef_)
    np.testing.assert_array_equal(fitted(own, query_weight=dict.fromkeys(weights, 1.0)).coef_, plain)
