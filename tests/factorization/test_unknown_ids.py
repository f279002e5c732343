"""Unknown ids and invalid ids: rejected by name, unless a fallback is requested."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_predict, cross_val_score

from gpukit.errors import DataError, ParameterError
from gpukit.factorization import Filters, MatrixFactorization
from gpukit.ratings import as_ratings

NO_IDS = [b"1050", None, {}, {"a": 1}, 3.5, np.nan, [[1, 2]], True, object(), 1j]


def spelled(one):
    """Return the name of a case, equal in every process, unlike an address."""
    return type(one).__name__ if type(one) is object else repr(one)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    pairs = rng.permutation(60 * 40)[:900]
    return pd.DataFrame({"user": pairs // 40 + 100, "item": pairs % 40, "rating": rng.integers(1, 6, 900)})


@pytest.fixture(scope="module")
def fitted(frame):
    options = {"n_factors": 4, "n_epochs": 2, "device": "cpu", "random_state": 0}
    return MatrixFactorization(**options).fit(as_ratings(frame))


@pytest.fixture(scope="module")
def worded(frame):
    """A model with text ids."""
    options = {"n_factors": 4, "n_epochs": 2, "device": "cpu", "random_state": 0}
    return MatrixFactorization(**options).fit(frame.assign(user="u" + frame.user.astype(str)))


def test_text_ids_in_two_arguments(worded):
    expected = worded.predict((["u100", "u101", "nobody"], [1, 2, 3]), unknown="baseline")
    for users in (
        ["u100", "u101", "nobody"],
        np.array(["u100", "u101", "nobody"]),
        pd.Series(["u100", "u101", "nobody"]),
    ):
        np.testing.assert_array_equal(worded.predict(users, [1, 2, 3], unknown="baseline"), expected)
    assert worded.predict("u101", 2) == expected[1:2]


def in_list(one):
    """Return an id as a list, unless it is a list of lists."""
    return one if isinstance(one, list) else [one]


ANSWERS = {
    "recommend": lambda model, one: model.recommend(in_list(one), 3, unknown="popular"),
    "predict": lambda model, one: model.predict((in_list(one), [1]), unknown="baseline"),
    "predict item": lambda model, one: model.predict(([100], in_list(one)), unknown="baseline"),
    "predict ids": lambda model, one: model.predict(one, 1, unknown="baseline"),
    "pair_scores": lambda model, one: model.pair_scores((in_list(one), [1]), by="rating", unknown="baseline"),
    "explain": lambda model, one: model.explain(one, 1, by="rating", unknown="baseline"),
    "explain item": lambda model, one: model.explain(100, one, by="rating", unknown="baseline"),
    "evidence": lambda model, one: model.evidence(in_list(one), [1], unknown="zero"),
    "similar_items": lambda model, one: model.similar_items(one),
    "similar_users": lambda model, one: model.similar_users(one),
    "mark_seen": lambda model, one: model.mark_seen((in_list(one), [1])),
    "filters": lambda model, one: model.recommend([100], 3, by="rating", filters=Filters(without=in_list(one))),
}


@pytest.mark.parametrize("one", NO_IDS, ids=spelled)
@pytest.mark.parametrize("answer", ANSWERS)
def test_what_are_no_ids(fitted, answer, one):
    with pytest.raises(DataError):
        ANSWERS[answer](fitted, one)


@pytest.mark.parametrize("one", [b"a", None, {}, [1], True], ids=spelled)
def test_what_are_no_ids_of_text(worded, one):
    for answer in ("recommend", "predict", "evidence"):
        with pytest.raises(DataError):
            ANSWERS[answer](worded, ["u100", one])


@pytest.mark.parametrize("one", [b"1", {}, True, object()], ids=spelled)
def test_what_are_no_ids_of_ratings(fitted, one):
    users = np.empty(2, object)
    users[:] = ["a", one]
    for take in (as_ratings, fitted.partial_fit, fitted.recommend_for):
        with pytest.raises(DataError, match="user ids must be text or whole numbers"):
            take((list(users), [1, 2], [3.0, 4.0]))
        with pytest.raises(DataError, match="item ids must be text or whole numbers"):
            take(pd.DataFrame({"user": [1, 2], "item": users, "rating": [3.0, 4.0]}))
    with pytest.raises(DataError):
        fitted.recommend_for([1, one])


def test_predicting_the_unknown_warns_once_with_counts(fitted):
    pairs = ([100, -1, -2, 101], [1, 1, 999, 999])
    with pytest.warns(UserWarning, match="Of 4 pairs, 2 have a user and 2 an item that") as record:
        found = fitted.predict(pairs)
    assert len(record) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(found, fitted.predict(pairs, unknown="baseline"))
        fitted.predict(([100], [1]))
    with pytest.raises(DataError, match="2 have a user and 2 an item"):
        fitted.predict(pairs, unknown="error")
    with pytest.raises(ParameterError, match="unknown must be one of"):
        fitted.predict(pairs, unknown="skip")


@pytest.mark.slow
def test_cross_validation_goes_on(frame):
    """Folds have users without training ratings: scores do not warn, predictions do."""
    model = MatrixFactorization(4, n_epochs=2, device="cpu", random_state=0)
    few = frame.iloc[:60]
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="Of .* pairs")
        assert np.isfinite(cross_val_score(model, few[["user", "item"]], few.rating, cv=3)).all()
    with pytest.warns(UserWarning, match="that the model does not know"):
        assert np.isfinite(cross_val_predict(model, few[["user", "item"]], few.rating, cv=3)).all()


def test_explain_and_evidence_name_the_unknown(fitted):
    with pytest.raises(DataError, match=r"does not know 1 of 1 users \('nobody'\).*unknown='baseline'"):
        fitted.explain("nobody", 1, by="rating")
    with pytest.raises(DataError, match=r"1 of 1 items \(-7\)"):
        fitted.explain(100, -7, by="rating")
    with pytest.raises(DataError, match=r"does not know 2 of 3 items \(-7, -8\).*unknown='zero'"):
        fitted.evidence([100, 101, 102], [1, -7, -8])
    assert fitted.evidence([100, -1], [-7, 1], unknown="zero")[0][1] == 0
    assert not fitted.explain("nobody", 1, by="rating", unknown="baseline").known_user


@pytest.mark.parametrize("given", [{1: 5, -7: 3}, ([9, 9], [1, -7], [5.0, 3.0])], ids=["dict", "arrays"])
def test_new_users_with_unknown_items(fitted, given):
    with pytest.raises(DataError, match=r"does not know 1 of 2 items \(-7\).*unknown='skip'"):
        fitted.recommend_for(given, n=3, by="rating")
    known = {1: 5} if isinstance(given, dict) else ([9], [1], [5.0])
    for found, wanted in zip(
        fitted.recommend_for(given, n=3, by="rating", unknown="skip"), fitted.recommend_for(known, n=3, by="rating")
    ):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("value", [50, 5.5, 0])
def test_new_users_with_ratings_outside_the_scale(fitted, value):
    with pytest.raises(DataError, match=rf"item 2\): rating {value:g} is outside the model's range, 1 to 5"):
        fitted.recommend_for({1: 5, 2: value}, n=3, by="rating")


def test_filters_count_unknown_items(fitted):
    with pytest.warns(UserWarning, match=r"does not know 1 of 2 items of the filters \(such as -7\)"):
        fitted.recommend([100], 3, by="rating", filters=Filters(without=[1, -7]))


@pytest.mark.parametrize("kind", ["Int64", "Float64", "boolean", "string", "int64[pyarrow]", "category"])
def test_missing_ids_of_any_dtype(fitted, kind):
    users = pd.array(["1", None, "1"] if kind == "string" else [1, None, 1], dtype=kind)
    for work in (lambda: fitted.recommend(users, 3), lambda: fitted.predict((users, [1, 2, 3]), unknown="baseline")):
        with pytest.raises(DataError, match="Row 2 has no user id|must be text or whole numbers; got True"):
            work()


@pytest.mark.parametrize("kind", [float, object, "float32", "Float64"])
def test_whole_floats_are_ids(fitted, worded, frame, kind):
    items = pd.Series([1, 2, 3]).astype(kind)
    np.testing.assert_array_equal(
        fitted.predict(([100, 101, 102], items)), fitted.predict(([100, 101, 102], [1, 2, 3]))
    )
    users = pd.Series([100, 101]).astype(kind)
    for known in (fitted, MatrixFactorization(**worded.get_params()).fit(frame.astype({"user": str}))):
        np.testing.assert_array_equal(known.recommend(users, 3)[0], known.recommend([100, 101], 3)[0])
