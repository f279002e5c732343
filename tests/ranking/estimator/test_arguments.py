"""Arguments of fit and score: labels, ids and weights as numbers; groups and eval sets as in other rankers."""

import datetime
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from gpukit import RankSVM
from gpukit.documents import as_documents
from gpukit.errors import DataError, ParameterError
from gpukit.evaluation.ranking import evaluate
from ranking.data import make

LARGE = 2**53
DATE = np.datetime64("2020-01-01")
NO_NUMBERS = {
    "text": ["9", "10", "8"],
    "bytes": [b"9", b"10", b"8"],
    "text among numbers": np.array([1, "9", 2], object),
    "dates": np.array([DATE] * 3),
    "NaT": np.array([np.datetime64("NaT"), DATE, DATE]),
    "durations": np.array([1, 2, 3], "m8[s]"),
    "complex": np.array([1, 2, 3 + 0j]),
    "objects of dates": np.array([datetime.date(2020, 1, 1)] * 3, object),
    "objects of complex numbers": np.array([1, 2, 3j], object),
    "None": np.array([1, None, 2], object),
    "records": np.zeros(3, [("a", "f8")]),
}


def grades_of(at):
    """Return the labels of a Set as grades 0, 1, ..."""
    return np.unique(at.y, return_inverse=True)[1]


@pytest.mark.parametrize("values", NO_NUMBERS.values(), ids=NO_NUMBERS.keys())
def test_what_is_no_number_is_refused(values):
    X, y, qid = np.arange(6.0).reshape(3, 2), np.array([2, 0, 1]), np.array([1, 1, 1])
    wide = np.column_stack([np.asarray(values), np.asarray(values)])
    calls = (
        lambda: RankSVM(device="cpu").fit(X, values, qid),
        lambda: RankSVM(device="cpu").fit(wide, y, qid),
        lambda: RankSVM(device="cpu").fit(X, y, qid, query_weight=values),
        lambda: RankSVM(device="cpu").fit(X, y, [1, 2, 3], query_weight=dict(zip([1, 2, 3], values))),
        lambda: RankSVM(device="cpu").fit(X, y, group=values),
        lambda: as_documents(X, values, qid),
        lambda: as_documents(wide, y, qid),
        lambda: as_documents(X, y, [1, 2, 3], weights=values),
    )
    for call in calls:
        with pytest.raises(DataError) as caught:
            call()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("qid", [NO_NUMBERS["NaT"], NO_NUMBERS["complex"], NO_NUMBERS["None"], NO_NUMBERS["records"]])
def test_ids_that_are_none(qid):
    for take in (RankSVM(device="cpu").fit, as_documents):
        with pytest.raises(DataError):
            take(np.eye(3), [1, 0, 2], qid)


def test_columns_of_a_frame_that_are_no_numbers():
    pandas = pytest.importorskip("pandas")
    at = make()
    frame = pandas.DataFrame(at.X, columns=list("abcde"))
    for values in (pandas.Timestamp("2020"), pandas.Timedelta(1, "s"), "9", 1j):
        for take in (RankSVM(device="cpu").fit, as_documents):
            with pytest.raises(DataError, match="numbers"):
                take(frame.assign(b=values), at.y, at.qid)
            with pytest.raises(DataError, match="y"):
                take(frame, pandas.Series([values] * len(at.y)), at.qid)


def test_other_kinds_of_numbers_are_taken():
    at, grades = make(levels=2), grades_of(make(levels=2))
    expected = RankSVM(1.0, device="cpu").fit(at.X, grades, at.qid).coef_
    kinds = (
        grades > 0,
        np.array([Decimal(one) for one in grades.tolist()]),
        [Fraction(one) for one in grades.tolist()],
    )
    for y in (*kinds, grades.astype(np.uint8), grades.astype(object), grades.astype(np.float32)):
        np.testing.assert_array_equal(RankSVM(1.0, device="cpu").fit(at.X, y, at.qid).coef_, expected)


@pytest.mark.parametrize("sign", [1, -1])
def test_labels_beyond_2_53_keep_their_order(sign):
    at, grades = make(), sign * grades_of(make())
    y = sign * LARGE + grades
    plain = RankSVM(1.0, device="cpu").fit(at.X, grades, at.qid)
    documents = as_documents(at.X, y, at.qid)
    for given in ((at.X, y, at.qid), (at.X, y.tolist(), at.qid), (documents,)):
        model = RankSVM(1.0, device="cpu").fit(*given)
        assert model.n_pairs_ == plain.n_pairs_ and model.score(*given) == plain.score(at.X, grades, at.qid)
        np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert evaluate(y, plain.predict(at.X), at.offsets)["pa"] == plain.score(at.X, grades, at.qid)


def test_labels_at_the_ends_of_int64():
    y = np.array([-(2**63), -(2**63) + 1, 0, 2**63 - 2, 2**63 - 1])
    assert RankSVM(1.0, device="cpu").fit(np.arange(5.0)[:, None], y, group=[5]).n_pairs_ == 10
    with pytest.raises(DataError, match=r"whole labels are at most 2\^63 - 1"):
        RankSVM(1.0, device="cpu").fit(np.arange(2.0)[:, None], np.array([2**63, 2**63 + 1], np.uint64), group=[2])


@pytest.mark.parametrize("kind", [list, lambda y: np.array(y, object)], ids=["list", "objects"])
def test_different_labels_that_are_one_number_are_refused(kind):
    y, X = [LARGE + 1, LARGE, 0.5], np.arange(3.0)[:, None]
    for call in (RankSVM(1.0, device="cpu").fit, as_documents):
        with pytest.raises(DataError, match=f"labels {LARGE + 1} and {LARGE} are one number in float64"):
            call(X, kind(y), group=[3])
    assert as_documents(X, kind([LARGE + 2, LARGE, 0.5]), group=[3]).y.tolist() == [LARGE + 2, LARGE, 0.5]


def test_documents_take_no_other_queries():
    at = make()
    documents = as_documents(at.X, at.y, at.qid)
    model = RankSVM(1.0, device="cpu").fit(documents)
    for call in (model.rank, model.score, model.fit):
        for given in ({"qid": at.qid}, {"group": np.diff(at.offsets)}):
            with pytest.raises(DataError, match="Documents bring relevance and queries of their own"):
                call(documents, **given)


def test_ids_beyond_2_53_are_different():
    at = make((4, 6), levels=3)
    expected = RankSVM(1.0, device="cpu").fit(at.X, at.y, at.qid)
    qid = LARGE + np.unique(at.qid, return_inverse=True)[1]
    assert RankSVM(1.0, device="cpu").fit(at.X, at.y, qid).n_pairs_ == expected.n_pairs_
    assert as_documents(at.X, at.y, qid).qids.tolist() == [LARGE, LARGE + 1]
    for call in (RankSVM(1.0, device="cpu").fit, as_documents):  # as floats, both queries are one
        with pytest.raises(DataError, match="The query id 9007199254740992 is a float64, which rounds whole numbers"):
            call(at.X, at.y, qid.astype(float))


@pytest.mark.parametrize("other, words", [(float("nan"), "Row 3 has no query id"), (1, "mixes text and numbers")])
def test_a_list_of_text_and_something_else_is_not_text(other, words):
    """numpy would make it the query 'nan', or the query '1'."""
    with pytest.raises(DataError, match=words):
        RankSVM(1.0, device="cpu").fit(np.eye(4), [1, 0, 1, 0], qid=["1", "1", other, other])


def test_eval_sets_with_groups_as_other_rankers_have_them(tmp_path):
    at, other = make(), make(seed=1)
    sizes = np.diff(other.offsets)
    model = RankSVM(1.0, device="cpu")
    model.fit(at.X, at.y, group=np.diff(at.offsets), eval_set=[(other.X, other.y), (at.X, at.y)],
              eval_group=[sizes, np.diff(at.offsets)])  # fmt: skip
    plain = RankSVM(1.0, device="cpu").fit(at.X, at.y, at.qid)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    results = model.evals_result_
    assert list(results) == ["validation_0", "validation_1"]
    assert results["validation_0"]["pa"] == plain.score(other.X, other.y, other.qid)
    assert results["validation_1"]["pa"] == plain.score(at.X, at.y, at.qid)
    by_qid = RankSVM(1.0, device="cpu").fit(at.X, at.y, at.qid, eval_set=[(other.X, other.y)], eval_qid=[other.qid])
    documents = as_documents(other.X, other.y, other.qid)
    by_documents = RankSVM(1.0, device="cpu").fit(at.X, at.y, at.qid, eval_set=[documents])
    by_array = RankSVM(1.0, device="cpu").fit(
        at.X, at.y, at.qid, eval_set=[(other.X, other.y)], eval_group=sizes[None, :]
    )
    by_qid.save(tmp_path / "m.gpukit")
    for one in (by_qid, by_documents, by_array, RankSVM.load(tmp_path / "m.gpukit")):
        np.testing.assert_equal(one.evals_result_, {"validation_0": results["validation_0"]})
    assert not hasattr(by_qid.fit(at.X, at.y, at.qid), "evals_result_")


@pytest.mark.parametrize("C", ["auto", 1.0])
def test_the_metric_is_validated_and_evaluated(C):
    at = make()
    documents = as_documents(at.X, grades_of(at), at.qid)
    model = RankSVM(C).fit(documents, eval_set=[documents], metric="ndcg@2")
    expected = evaluate(documents.y, model.predict(documents), documents.offsets, cuts=[2])["ndcg@2"]
    assert model.evals_result_["validation_0"]["ndcg@2"] == expected > 0
    for metric in ("foo", None, 3):
        with pytest.raises(ParameterError, match="is unknown"):
            RankSVM(C).fit(documents, metric=metric)


def test_eval_sets_that_do_not_fit():
    at = make()
    sizes = np.diff(at.offsets)
    for given, words in (
        ({"eval_set": [(at.X, at.y)]}, "Neither qid nor group"),
        ({"eval_set": [(at.X, at.y)], "eval_group": [sizes, sizes]}, "eval_group must have an entry for each of the 1"),
        ({"eval_group": [sizes]}, "eval_group must have an entry for each of the 0"),
        ({"eval_set": (at.X, at.y), "eval_group": [sizes]}, "eval_set must be a list of"),
        ({"eval_set": [(at.X[:, :3], at.y)], "eval_group": [sizes]}, "trained on 5 features"),
    ):
        with pytest.raises(DataError, match=words):
            RankSVM(1.0, device="cpu").fit(at.X, at.y, at.qid, **given)


def test_weighted_scores_count_pairs_by_query():
    at = make()
    model = RankSVM(1e-3, device="cpu").fit(at.X, at.y, at.qid)
    weights = np.where(np.arange(len(at.offsets) - 1) == 2, 1.0, 0.0)
    one = at.qid == at.qid[at.offsets[2]]
    expected = model.score(at.X[one], at.y[one], at.qid[one])
    assert model.score(at.X, at.y, at.qid, weights) == pytest.approx(expected, rel=1e-15)
    by_document = np.repeat(weights, np.diff(at.offsets))
    assert model.score(at.X, at.y, at.qid, sample_weight=by_document) == pytest.approx(expected, rel=1e-15)
    assert model.score(at.X, at.y, at.qid, np.ones(len(at.y))) == model.score(at.X, at.y, at.qid)


@pytest.mark.parametrize("labels", [[2, 0, 1], [0, 1, 2], [7, "a", None], [(0, 1), (0, 2), (1, 1)]], ids=str)
def test_columns_are_matched_by_labels_that_are_no_text(labels):
    """Numeric and mixed labels were matched by position, so other orders silently gave other scores."""
    import pandas as pd

    at = make()
    X = pd.DataFrame({at: column for at, column in enumerate(at.X[:, :3].T)})
    X.columns = pd.Index(labels, tupleize_cols=True)
    model = RankSVM(1.0, device="cpu").fit(X, at.y, at.qid)
    np.testing.assert_array_equal(model.predict(X.iloc[:, [2, 0, 1]]), model.predict(X))
    np.testing.assert_array_equal(model.predict(X.to_numpy()), model.predict(X))
    documents = as_documents(X.iloc[:, [1, 2, 0]], at.y, at.qid)
    np.testing.assert_array_equal(model.predict(documents), model.predict(as_documents(X, at.y, at.qid)))


def test_columns_that_count_from_0_are_no_names():
    """The model accepts an array, and a frame with any names, in the same order; other orders are matched."""
    import pandas as pd

    at = make()
    X = pd.DataFrame(at.X)
    model = RankSVM(1.0, device="cpu").fit(X, at.y, at.qid)
    assert not hasattr(model, "feature_names_in_")
    np.testing.assert_array_equal(model.predict(X[[4, 3, 0, 1, 2]]), model.predict(at.X))
    np.testing.assert_array_equal(model.predict(X.set_axis(list("abcde"), axis=1)), model.predict(at.X))
    named = RankSVM(1.0, device="cpu").fit(X.set_axis(list("abcde"), axis=1), at.y, at.qid)
    np.testing.assert_array_equal(named.predict(X), model.predict(X))


@pytest.mark.slow
@pytest.mark.parametrize("weight", [1e140, 1e150, 1e300])
def test_weights_beyond_float64_are_one_line_or_train(weight):
    """Squares of the gradient overflow before the objective does."""
    at = make()
    model = RankSVM(1.0, device="cpu")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            model.fit(at.X, at.y, at.qid, query_weight=np.full(6, weight))
    except DataError as error:
        assert weight > 1e140 and "smaller weights, or" in str(error)
    else:
        assert weight < 1e160 and np.isfinite(model.coef_).all()


@pytest.mark.parametrize(("document", "query"), [(1e200, 1.0), (1e10, 1e300), (1.0, 1e308)])
@pytest.mark.parametrize("C", [1.0, "auto"])
def test_products_of_weights_beyond_float64_are_one_line(document, query, C):
    at = make()
    with warnings.catch_warnings(), pytest.raises(DataError, match=r"weights are so large, up to 1e\+[0-9]+, that"):
        warnings.simplefilter("error")
        weights = {"sample_weight": np.full(len(at.y), document), "query_weight": np.full(6, query)}
        RankSVM(C, device="cpu").fit(at.X, at.y, at.qid, **weights)


@pytest.mark.parametrize("largest", [2**63 + 1, 2**70])
def test_labels_beyond_int64_are_refused_by_their_size(largest):
    at = make()
    with pytest.raises(DataError, match=f"y holds {largest}[0-9]*: whole labels are at most"):
        RankSVM(1.0, device="cpu").fit(at.X, [largest] * len(at.y), at.qid)


@pytest.mark.skipif(np.finfo(np.longdouble).max == np.finfo(float).max, reason="longdouble is float64 here")
@pytest.mark.parametrize("what", ["X", "y"])
def test_long_floats_beyond_float64_are_refused_by_their_size(what):
    """They became inf with a numpy warning, and inf was reported instead of the value."""
    at = make()
    given = {"X": at.X.astype(np.longdouble), "y": at.y.astype(np.longdouble) + 1}
    given[what] = given[what] * np.longdouble("1e400")
    with pytest.raises(DataError, match=f"{what} holds a number that is larger than float64 holds"):
        RankSVM(1.0, device="cpu").fit(given["X"], given["y"], at.qid)
