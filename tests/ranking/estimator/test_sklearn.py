"""RankSVM in scikit-learn: its checks, metadata routing, folds that keep a query together."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

from gpukit import RankSVM
from ranking.data import make

WORDS = "the error speaks of documents and features in gpukit's words"
EXCEPTIONS = {
    "check_n_features_in_after_fitting": WORDS,
    "check_dtype_object": WORDS,
    "check_estimators_empty_data_messages": WORDS,
    "check_fit2d_1sample": WORDS,
    "check_fit2d_predict1d": WORDS,
    "check_requires_y_none": WORDS,
}


class OneQuery(RankSVM):
    """RankSVM for scikit-learn's checks, which have no queries: all documents are of one query."""

    def fit(self, X, y=None):
        return super().fit(X, y, group=[len(X) if isinstance(X, list) else X.shape[0]])

    def score(self, X, y=None):
        return super().score(X, y, group=[len(X)])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_checks():
    from sklearn.utils.estimator_checks import check_estimator  # takes long to load

    results = check_estimator(OneQuery(device="cpu"), on_skip=None, on_fail=None, expected_failed_checks=EXCEPTIONS)
    assert not {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert {result["check_name"] for result in results if result["status"] == "xfail"} == set(EXCEPTIONS)
    assert sum(result["status"] == "passed" for result in results) >= 30


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def folds_by_hand(at, weights, C, splits=3):
    """Return the score of each fold of GroupKFold, each by its own model."""
    scores = []
    for train, test in GroupKFold(splits).split(at.X, at.y, at.qid):
        assert not set(at.qid[train]) & set(at.qid[test])
        model = RankSVM(C, device="cpu").fit(*at.taken(train), query_weight=weights)
        scores.append(model.score(*at.taken(test)))
    return scores


def shuffled(at):
    """Return the documents of a Set in random order."""
    return at._replace(**dict(zip(("X", "y", "qid"), at.taken(np.random.default_rng(2).permutation(len(at.y))))))


@pytest.mark.slow
def test_cross_validation_passes_queries_and_weights_on(routing):
    at = shuffled(make())
    weights = {qid: 1.0 + 10 * (at_query % 2) for at_query, qid in enumerate(np.unique(at.qid).tolist())}
    by_document = np.array([weights[qid] for qid in at.qid.tolist()])
    for given in (weights, by_document):
        params = {"qid": at.qid, "query_weight": given, "groups": at.qid}
        found = cross_val_score(RankSVM(device="cpu"), at.X, at.y, cv=GroupKFold(3), params=params)
        np.testing.assert_array_equal(found, folds_by_hand(at, weights, "auto"))
    assert folds_by_hand(at, weights, "auto") != folds_by_hand(at, None, "auto")


def test_grid_search_finds_what_trying_finds(routing):
    at, grid = shuffled(make(levels=4)), [1e-4, 1e-2, 1.0]
    search = GridSearchCV(RankSVM(device="cpu"), {"C": grid}, cv=GroupKFold(3))
    search.fit(at.X, at.y, qid=at.qid, groups=at.qid)
    expected = [np.mean(folds_by_hand(at, None, C)) for C in grid]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected)
    assert search.best_params_["C"] == grid[int(np.argmax(expected))]
    whole = RankSVM(search.best_params_["C"], device="cpu").fit(at.X, at.y, at.qid)
    np.testing.assert_array_equal(search.best_estimator_.coef_, whole.coef_)


def test_frames_and_their_folds(routing):
    pandas = pytest.importorskip("pandas")
    at = shuffled(make())
    X = pandas.DataFrame(at.X, columns=list("abcde"), index=np.arange(len(at.y)) + 100)
    y, qid = pandas.Series(at.y, X.index), pandas.Series(at.qid, X.index)
    found = cross_validate(RankSVM(1.0, device="cpu"), X, y, cv=GroupKFold(3), params={"qid": qid, "groups": qid})
    np.testing.assert_array_equal(found["test_score"], folds_by_hand(at, None, 1.0))


def test_requests_are_set_kept_by_clones_and_refused(routing):
    at = make()
    model = RankSVM(device="cpu").set_fit_request(qid="queries", query_weight=False)
    assert isinstance(model, RankSVM) and clone(model).get_metadata_routing().fit.requests["qid"] == "queries"
    assert RankSVM().get_metadata_routing().fit.requests["qid"] is True
    assert RankSVM().get_metadata_routing().predict.requests == {"group": None, "qid": True}
    with pytest.raises(TypeError, match="Unexpected args.*rank"):
        RankSVM().set_fit_request(rank=True)
    search = GridSearchCV(RankSVM(device="cpu"), {"C": [1.0]}, cv=GroupKFold(2))
    with pytest.raises(UnsetMetadataPassedError, match="group"):
        search.fit(at.X, at.y, qid=at.qid, groups=at.qid, group=[3])


def test_requests_without_routing_say_how_to_enable_it():
    with pytest.raises(RuntimeError, match="enable_metadata_routing=True"):
        RankSVM().set_fit_request(qid=True)


def test_what_it_is():
    model = RankSVM(C=3.0)
    assert not is_classifier(model) and not is_regressor(model)
    at = make()
    for shown in (model, clone(model).fit(at.X, at.y, at.qid)):
        assert "RankSVM" in estimator_html_repr(shown)


@pytest.mark.slow
def test_a_pipeline_is_scored_and_searched(routing):
    at, grid = shuffled(make(levels=4)), [1e-4, 1e-2, 1.0]
    pipeline = Pipeline([("scale", StandardScaler()), ("rank", RankSVM(device="cpu"))])
    search = GridSearchCV(pipeline, {"rank__C": grid}, cv=GroupKFold(3), error_score="raise")
    search.fit(at.X, at.y, qid=at.qid, groups=at.qid)
    best = search.best_estimator_
    X = StandardScaler().fit_transform(at.X)
    whole = RankSVM(search.best_params_["rank__C"], device="cpu").fit(X, at.y, at.qid)
    np.testing.assert_array_equal(best[-1].coef_, whole.coef_)
    assert best.score(at.X, at.y, qid=at.qid) == whole.score(X, at.y, at.qid)
    found = cross_val_score(pipeline, at.X, at.y, cv=GroupKFold(3), params={"qid": at.qid, "groups": at.qid})
    assert found.shape == (3,) and (found > 0.5).all()


def test_a_pipeline_without_routing():
    at = make()
    pipeline = Pipeline([("scale", StandardScaler()), ("rank", RankSVM(1.0, device="cpu"))])
    assert clone(pipeline).set_params(rank__C=2.0).get_params()["rank__C"] == 2.0
    pipeline.fit(at.X, at.y, rank__qid=at.qid)
    with sklearn.config_context(enable_metadata_routing=True):
        assert pipeline.score(at.X, at.y, qid=at.qid) == pipeline[-1].score(pipeline[0].transform(at.X), at.y, at.qid)


def test_weights_of_documents_are_routed_to_fit_and_score(routing):
    at = shuffled(make())
    weight = np.random.default_rng(4).integers(1, 6, len(at.y)).astype(float)
    model = RankSVM(1.0, device="cpu")
    params = {"qid": at.qid, "sample_weight": weight, "groups": at.qid}
    found = cross_val_score(model, at.X, at.y, cv=GroupKFold(3), params=params)
    expected = []
    for train, test in GroupKFold(3).split(at.X, at.y, at.qid):
        fitted = RankSVM(1.0, device="cpu").fit(*at.taken(train), sample_weight=weight[train])
        means = {qid: weight[test][at.qid[test] == qid].mean() for qid in np.unique(at.qid[test]).tolist()}
        expected.append(fitted.score(*at.taken(test), means))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    search = GridSearchCV(model, {"C": [1.0]}, cv=GroupKFold(3), error_score="raise")
    search.fit(at.X, at.y, qid=at.qid, groups=at.qid, sample_weight=weight)
    assert search.best_score_ == pytest.approx(np.mean(expected), rel=1e-12)
