"""scikit-learn's estimator checks; every exception is named and has a reason."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.utils import estimator_html_repr

from factorization.inputs import make, planted
from gpukit import LSHMF, MatrixFactorization, SimLSH
from gpukit.errors import GpukitError

WORDS = "the error speaks of users, items and ratings, not of samples and features"
COLUMNS = "an (n, 2) array that comes with y is pairs of user and item, so the items are not its columns"
MATRIX = "y is ignored: an array of other than two columns is a matrix of users x items"
FIT = {
    "check_estimators_empty_data_messages": WORDS,
    "check_fit2d_1feature": WORDS,
    "check_n_features_in": COLUMNS,
}
PAIRS = {
    name: "predict takes pairs of ids (or a matrix whose stored entries are predicted), not rows of features"
    for name in (
        "check_n_features_in_after_fitting",
        "check_estimators_dtypes",
        "check_dtype_object",
        "check_estimator_sparse_array",
        "check_estimator_sparse_matrix",
        "check_estimators_pickle",
        "check_f_contiguous_array_estimator",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_dict_unchanged",
        "check_fit2d_predict1d",
        "check_regressor_data_not_an_array",
        "check_regressors_int",
        "check_supervised_y_2d",
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    )
}
IGNORED = dict.fromkeys(("check_regressors_train", "check_supervised_y_no_nan"), MATRIX)
TWICE = dict.fromkeys(
    ("check_sample_weights_shape", "check_sample_weights_not_overwritten"), "their two columns name pairs twice"
)
MODELS = {**FIT, **PAIRS, **IGNORED, **TWICE, "check_fit2d_1sample": WORDS}
CASES = [
    (MatrixFactorization(n_factors=4, n_epochs=3, device="cpu"), MODELS),
    (LSHMF(n_factors=4, n_neighbors=1, n_epochs=3, lsh_q=5, device="cpu"), MODELS),
    (
        SimLSH(n_neighbors=1, q=5, device="cpu"),
        {**FIT, "check_dtype_object": "ratings that are no numbers are a DataError"},
    ),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator, exceptions", CASES, ids=[type(estimator).__name__ for estimator, _ in CASES])
def test_scikit_learns_checks(estimator, exceptions):
    from sklearn.utils.estimator_checks import check_estimator  # takes long to load

    results = check_estimator(estimator, on_skip=None, on_fail=None, expected_failed_checks=exceptions)
    assert not {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    excused = {result["check_name"] for result in results if result["status"] == "xfail"}
    assert excused == set(exceptions), "a check passes that is listed as an exception"
    assert sum(result["status"] == "passed" for result in results) >= 20


def test_their_error_is_raised_too():
    with pytest.raises(NotFittedError) as caught:
        MatrixFactorization().predict(([1], [1]))
    assert isinstance(caught.value, GpukitError)


@pytest.mark.slow
def test_clone_and_model_selection():
    ratings = np.random.default_rng(0).integers(1, 6, (30, 12)).astype(float)
    model = MatrixFactorization(n_factors=3, n_epochs=2, device="cpu", random_state=4)
    assert clone(model).get_params() == model.get_params()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = GridSearchCV(model, {"n_factors": [2, 3]}, cv=2).fit(ratings)
    assert search.best_params_["n_factors"] in (2, 3) and search.best_score_ < 0


@pytest.fixture(scope="module")
def triples():
    """Return a DataFrame of ratings in random order with text ids."""
    import pandas

    ratings = planted()
    users, items = (np.char.add(*pair) for pair in (("u", ratings.users.astype(str)), ("i", ratings.items.astype(str))))
    frame = pandas.DataFrame({"user": users, "item": items, "rating": ratings.values})
    return frame.sample(frac=1, random_state=0)


def folds_by_hand(frame, n_factors, splits=3):
    """Return the score of each fold, with one model per fold.

    Folds are frames of triples.
    """
    scores = []
    for train, test in KFold(splits).split(frame):
        model = MatrixFactorization(n_factors, 4, device="cpu", deterministic=True).fit(frame.iloc[train])
        scores.append(model.score(frame.iloc[test]))
    return scores


def as_pairs(frame, how):
    """Return (X, y) of a frame of triples."""
    if how == "triples":
        return frame, None
    pairs, ratings = frame[["user", "item"]], frame["rating"]
    return (pairs, ratings) if how == "frame" else (pairs.to_numpy(), ratings.to_numpy())


@pytest.mark.slow
@pytest.mark.parametrize("how", ["triples", "frame", "array"])
def test_cross_validation_of_pairs_and_of_triples(triples, how):
    model = MatrixFactorization(4, 4, device="cpu", deterministic=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = cross_val_score(model, *as_pairs(triples, how), cv=KFold(3))
    np.testing.assert_allclose(found, folds_by_hand(triples, 4), rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["triples", "frame", "array"])
def test_grid_search_of_pairs_and_of_triples(triples, how):
    X, y = as_pairs(triples, how)
    model = LSHMF(n_neighbors=3, n_epochs=3, lsh_q=5, device="cpu")
    search = GridSearchCV(model, {"n_factors": [2, 5]}, cv=KFold(2), error_score="raise").fit(X, y)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"]) < 0
    assert search.predict(triples[["user", "item"]]).shape == (len(triples),)


def test_what_they_are():
    for model in (MatrixFactorization(), LSHMF()):
        assert is_regressor(model) and not is_classifier(model)
    assert not is_regressor(SimLSH()) and not is_classifier(SimLSH())


@pytest.mark.parametrize("model", [MatrixFactorization, LSHMF])
def test_html(model):
    fitted = make(model).fit(planted())
    for shown in (make(model), fitted):
        assert model.__name__ in estimator_html_repr(shown)


def test_requests_of_what_fit_takes_besides():
    with config_context(enable_metadata_routing=True):
        model = LSHMF().set_fit_request(validation=True)
        assert model.get_metadata_routing().fit.requests["validation"] is True
        assert model.get_metadata_routing().predict.requests == {"items": None, "unknown": None}


@pytest.mark.parametrize("is_dense", [False, True])
def test_a_part_of_a_matrixs_rows_is_scored_with_a_warning(triples, is_dense):
    places = tuple(triples[name].astype("category").cat.codes for name in ("user", "item"))
    matrix = scipy.sparse.csr_array((triples["rating"], places))
    if is_dense:
        matrix = np.where(matrix.toarray() == 0, np.nan, matrix.toarray())
    model = MatrixFactorization(2, 2, device="cpu", deterministic=True).fit(matrix)
    with pytest.warns(UserWarning, match=r"X has 5 rows, the model \d+ users: rows count as the first users"):
        model.score(matrix[-5:])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.score(matrix) < 0


@pytest.mark.parametrize("how", ["triples", "frame", "array"])
def test_a_score_is_weighted(triples, how):
    X, y = as_pairs(triples, how)
    model = MatrixFactorization(2, 2, device="cpu", deterministic=True).fit(X, y)
    weight = np.random.default_rng(3).integers(0, 4, len(triples)).astype(float)
    errors = model.predict(triples[["user", "item"]]) - triples["rating"].to_numpy()
    assert model.score(X, y, weight) == pytest.approx(-np.sqrt(np.average(errors**2, weights=weight)), rel=1e-6)
    assert model.score(X, y, sample_weight=np.ones(len(weight))) == pytest.approx(model.score(X, y), rel=1e-6)
    with pytest.raises(GpukitError, match="sample_weight must hold a number a rating"):
        model.score(X, y, weight[:-1])


@pytest.mark.slow
def test_weights_are_routed_to_fit_and_score(triples):
    X, y = as_pairs(triples, "frame")
    weight = np.random.default_rng(3).integers(1, 5, len(triples)).astype(float)
    model = MatrixFactorization(4, 4, device="cpu", deterministic=True)
    scores = []
    for train, test in KFold(3).split(X):
        fitted = clone(model).fit(X.iloc[train], y.iloc[train], sample_weight=weight[train])
        scores.append(fitted.score(X.iloc[test], y.iloc[test], weight[test]))
    with config_context(enable_metadata_routing=True):
        asked = clone(model).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        found = cross_val_score(asked, X, y, cv=KFold(3), params={"sample_weight": weight})
        search = GridSearchCV(asked, {"n_factors": [4]}, cv=KFold(3)).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(found, scores, rtol=1e-6)
    assert search.best_score_ == pytest.approx(np.mean(scores), rel=1e-6)


def test_pairs_without_ratings_score_no_model_of_ratings(triples):
    model = MatrixFactorization(2, 2, device="cpu", deterministic=True).fit(triples)
    for ask in (model.evaluate, model.score):
        with pytest.raises(GpukitError, match="pairs without ratings, and ratings are learned"):
            ask(triples[["user", "item"]])
