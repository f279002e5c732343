"""Fold-in of users against least squares in plain loops and against partial_fit; errors."""

import warnings

import numpy as np
import pytest

from factorization.inputs import make, planted, same_state
from gpukit.errors import DataError, ParameterError
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization.answers import fold_in
from gpukit.factorization.constants import DAMPING


@pytest.fixture(scope="module", params=[MatrixFactorization, LSHMF])
def fitted(request):
    return make(request.param, n_epochs=15).fit(planted(200, 40, 0.4))


def term(state, given, base, item):
    """The neighbourhood's part of Eq. (1), in loops."""
    rated = dict(zip(given.items.tolist(), given.z.tolist()))
    explicit, implicit, counts = 0.0, 0.0, [0, 0]
    for k, other in enumerate(state.neighbors[item].tolist()):
        if other in rated:
            explicit += (rated[other] - base - float(state.item_extras[other, 2])) * float(state.influence[item, 0, k])
        else:
            implicit += float(state.influence[item, 1, k])
        counts[other not in rated] += 1
    return sum(part / count**0.5 for part, count in zip((explicit, implicit), counts) if count)


@pytest.mark.parametrize("items", [[3], [0, 5, 7, 11, 39], list(range(30))])
def test_taste_is_the_most_probable_one(fitted, items):
    state, rng = fitted._state, np.random.default_rng(1)
    prior = fold_in.Prior(rng.normal(size=(4, 4)), 0.3)
    given = fold_in.UserRatings(np.array(items), np.random.default_rng(0).normal(size=len(items)))
    taste = fold_in.fit_user(state, given, prior)
    base = (given.z - state.item_extras[items, 2]).sum() / (len(items) + DAMPING)
    assert taste.base == pytest.approx(base)
    rows, wanted = [], []
    for item, z in zip(items, given.z):
        rows.append([1.0, *state.item_factors[item].tolist()])
        wanted.append(z - float(state.item_extras[item, 0]) - term(state, given, base, item))
    spread = np.sqrt(0.3) * np.linalg.inv(prior.root)  # whose square is noise S^-1
    weights = np.block([[np.full((1, 1), DAMPING**0.5), np.zeros((1, 4))], [np.zeros((4, 1)), spread]])
    design = np.vstack((rows, weights))
    expected = np.linalg.lstsq(design, np.append(wanted, np.zeros(5)), rcond=None)[0]
    np.testing.assert_allclose([taste.bias, *taste.factors], expected, rtol=1e-8, atol=1e-10)
    scores = fold_in.predict_scores(state, given, taste)
    for item in (0, 17, 39):
        own = expected @ [1.0, *state.item_factors[item].tolist()] + float(state.item_extras[item, 0])
        assert scores[item] == pytest.approx(own + term(state, given, base, item), abs=1e-9)


def test_the_prior_is_that_of_the_users(fitted):
    """Their mean product of factors, and the mean squared error of all ratings."""
    state, prior = fitted._state, fold_in.prior_of(fitted)
    expected = sum(np.outer(row, row) for row in state.user_factors.astype(float)) / 200
    np.testing.assert_allclose(prior.root @ prior.root.T, expected, rtol=1e-9, atol=1e-12)
    ratings = planted(200, 40, 0.4)
    pairs = ratings.user_ids[ratings.users], ratings.item_ids[ratings.items]
    scores = fitted.pair_scores(pairs, by="rating").astype(float)
    noise = np.mean((ratings.values - scores) ** 2) / fitted._scale.deviation**2
    assert prior.noise == pytest.approx(noise, rel=1e-4)


def test_a_new_user_is_like_the_others():
    """The fewer the ratings, the more so: the mean error after few ratings is below that of biases."""
    whole = planted(500, 60, 0.5, seed=4)
    late = whole.users >= 350
    fitted = make(MatrixFactorization, n_epochs=20, n_factors=8).fit(whole.take(~late))
    rows = {row["earlier"]: row for row in fitted.evaluate_sequentially(whole.take(late))}
    assert rows["1 to 4"]["rmse"] < 1.01 * rows["1 to 4"]["biases_rmse"]
    assert rows["20 to 99"]["rmse"] < 0.9 * rows["20 to 99"]["biases_rmse"]


def test_one_user_several_users_and_a_dictionary(fitted):
    before, ratings = fitted._state, planted(200, 40, 0.4)
    some = ratings.take(ratings.users < 3)
    users, items, scores = fitted.recommend_for(some, n=5)
    assert users.tolist() == fitted.user_ids_[:3].tolist() and items.shape == scores.shape == (3, 5)
    one = ratings.take(ratings.users == 1)
    listed = dict(zip(one.item_ids[one.items].tolist(), one.values.tolist()))
    alone = fitted.recommend_for(listed, n=5)
    assert alone[0].tolist() == [0] and alone[1].tolist() == items[1:2].tolist()
    np.testing.assert_array_equal(alone[2], scores[1:2])
    assert not set(listed) & set(items[1].tolist()) and (np.diff(scores) <= 0).all()
    assert fitted._state is before and len(fitted.user_ids_) == 200


def test_more_than_are_left(fitted):
    listed = dict.fromkeys(fitted.item_ids_[:38].tolist(), 3)
    _, items, scores = fitted.recommend_for(listed, n=50)
    assert items.shape == (1, 50) and items[0, :2].tolist().count(None) == 0 and (items[0, 2:] == None).all()  # noqa: E711
    assert np.isnan(scores[0, 2:]).all()
    _, items, scores = fitted.recommend_for(listed, n=40, exclude_seen=False)
    assert np.isfinite(scores).all() and set(items[0].tolist()) == set(fitted.item_ids_.tolist())


def test_items_that_are_not_known_count_for_nothing(fitted):
    listed = dict(zip(fitted.item_ids_[:9].tolist(), [1, 2, 3, 4, 5, 4, 3, 2, 1]))
    own, more = fitted.recommend_for(listed), fitted.recommend_for({**listed, 10**7: 5}, unknown="skip")
    assert own[1].tolist() == more[1].tolist()
    nothing = fitted.recommend_for({10**7: 5}, n=40, unknown="skip")
    general = fitted.recommend([-1], 40, unknown="popular")
    np.testing.assert_allclose(np.sort(nothing[2][0]), np.sort(general[1][0]), rtol=1e-4)


@pytest.mark.parametrize("model", [MatrixFactorization, LSHMF])
def test_as_good_as_an_update(model):
    whole = planted(400, 80, 0.3, seed=3)
    late = whole.users >= 300
    fitted = make(model, n_epochs=15, n_factors=6).fit(whole.take(~late))
    given, judged = whole.take(late).split(0.3, 1)
    errors = []
    prior = fold_in.prior_of(fitted)
    for user, own in fold_in.iterate_users(given, fitted.item_ids_, None, fitted._scale):
        asked = judged.users == user
        z = fold_in.predict_scores(fitted._state, own, fold_in.fit_user(fitted._state, own, prior), judged.items[asked])
        errors.append(np.clip(z * fitted._scale.deviation + fitted.mean_, 1, 5) - judged.values[asked])
    folded = np.sqrt(np.mean(np.concatenate(errors) ** 2))
    assert folded < 1.05 * fitted.partial_fit(given, rows="frozen").evaluate(judged)["rmse"]


def test_refusals(fitted):
    state = fitted._state
    with pytest.raises(DataError, match="There are no ratings"):
        fitted.recommend_for({})
    with pytest.raises(DataError, match="are not numbers"):
        fitted.recommend_for({1: "good"})
    with pytest.raises(DataError, match="finite"):
        fitted.recommend_for({1: np.nan})
    with warnings.catch_warnings(), pytest.raises(DataError, match="1e.39 is larger than float32 holds"):
        warnings.simplefilter("error")
        fitted.recommend_for({1: 1e39})
    with pytest.raises(ParameterError, match="n must be an integer"):
        fitted.recommend_for({1: 3}, n=0)
    with pytest.raises(DataError, match="again as rating 2"):
        fitted.recommend_for((np.array([1, 1]), np.array([4, 4]), np.ones(2, np.float32)), duplicates="error")
    assert same_state(fitted, fitted) and fitted._state is state


@pytest.mark.parametrize("n", [1, 3, 7, 8, 20, 30])
@pytest.mark.parametrize("missing", [0, 15, 20])
def test_best_places_are_those_of_a_stable_sort(n, missing):
    """20 scores with ties; some are NaN."""
    scores = np.random.default_rng(n).integers(0, 4, 20).astype(np.float32)
    scores[np.random.default_rng(n).permutation(20)[:missing]] = np.nan
    expected = np.argsort(-scores, kind="stable")[:n]
    assert fold_in.best_places(scores, n).tolist() == expected.tolist()
