"""scikit-learn's own checks of estimators; every exception is named and has a reason."""

import warnings

import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

from gpukit import LSHMF, MatrixFactorization, SimLSH
from gpukit.errors import GpukitError

WORDS = "the error speaks of users, items and ratings, not of samples and features"
FIT = {"check_estimators_empty_data_messages": WORDS, "check_fit2d_1feature": WORDS}
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
    )
}
MODELS = {**FIT, **PAIRS, "check_fit2d_1sample": WORDS}
CASES = [
    (MatrixFactorization(n_factors=4, n_epochs=3, device="cpu"), MODELS),
    (LSHMF(n_factors=4, n_neighbors=1, n_epochs=3, lsh_q=5, device="cpu"), MODELS),
    (
        SimLSH(n_neighbors=1, q=5, device="cpu"),
        {**FIT, "check_dtype_object": "ratings that are no numbers are a DataError"},
    ),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator, exceptions", CASES, ids=[type(estimator).__name__ for estimator, _ in CASES])
def test_scikit_learns_checks(estimator, exceptions):
    results = check_estimator(estimator, on_skip=None, on_fail=None, expected_failed_checks=exceptions)
    assert not {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    excused = {result["check_name"] for result in results if result["status"] == "xfail"}
    assert excused == set(exceptions), "a check passes that is listed as an exception"
    assert sum(result["status"] == "passed" for result in results) >= 20


def test_their_error_is_raised_too():
    with pytest.raises(NotFittedError) as caught:
        MatrixFactorization().predict(([1], [1]))
    assert isinstance(caught.value, GpukitError)


def test_clone_and_model_selection():
    import numpy as np
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV

    ratings = np.random.default_rng(0).integers(1, 6, (30, 12)).astype(float)
    model = MatrixFactorization(n_factors=3, n_epochs=2, device="cpu", random_state=4)
    assert clone(model).get_params() == model.get_params()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = GridSearchCV(model, {"n_factors": [2, 3]}, cv=2).fit(ratings)
    assert search.best_params_["n_factors"] in (2, 3) and search.best_score_ < 0
