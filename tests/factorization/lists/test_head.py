"""The ranking head: users are solved for from items; stored and validated."""

import copy
import threading

import numpy as np
import pytest

from factorization.inputs import planted
from factorization.lists import naive
from gpukit.device import cpu
from gpukit.errors import DataError, ModelError, ParameterError
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization.lists import head, learning
from gpukit.persist import load_arrays, load_model, save_arrays

RATINGS = planted(density=0.4)


@pytest.fixture(scope="module")
def fitted():
    return MatrixFactorization(n_factors=4, n_epochs=3, device="cpu").fit(RATINGS).fit_lists()


def rated_by(user):
    """Return {item row: rating}."""
    mine = RATINGS.users == user
    return dict(zip(RATINGS.items[mine].tolist(), RATINGS.values[mine].astype(float).tolist()))


def solved(fitted, ratings):
    """Return a user's factors by the oracle."""
    mean, deviation = fitted._scale.mean, fitted._scale.deviation
    clicks = {row: naive.weight(rating, mean, deviation) for row, rating in ratings.items()}
    return naive.solved(fitted._head.item_factors.astype(np.float64), clicks, *fitted._head.numbers)


@pytest.mark.parametrize("user", [0, 17, 59])
def test_users_minimize_the_weighted_squares(fitted, user):
    expected = solved(fitted, rated_by(user))
    np.testing.assert_allclose(fitted._head.user_factors[user], expected, rtol=1e-3, atol=1e-5)


def test_ratings_are_put_in_order_where_they_lie(fitted):
    orders = learning.orders_of(fitted._rated, RATINGS.shape, cpu())
    weights = orders.levels.values
    for order, rows, others in ((orders.by_user, "users", "items"), (orders.by_item, "items", "users")):
        for row in range(RATINGS.shape[rows == "items"]):
            part, mine = slice(*order.indptr[row : row + 2]), getattr(RATINGS, rows) == row
            found = dict(zip(order.others[part].tolist(), weights[order.codes[part]].tolist()))
            mean, deviation = fitted._scale.mean, fitted._scale.deviation
            rated = zip(getattr(RATINGS, others)[mine].tolist(), RATINGS.values[mine].tolist())
            expected = {other: naive.weight(rating, mean, deviation) for other, rating in rated}
            assert found.keys() == expected.keys() and part.stop - part.start == len(found)
            assert found == pytest.approx(expected, rel=1e-5)


def test_what_was_liked_weighs_more():
    z = np.array([-20, -1, 0, 1, 2], np.float32)
    np.testing.assert_allclose(head.weights_of(z), [0.1, 0.85, 1, 1.15, 1.3], rtol=1e-6)


def test_scores_are_products_and_a_little_popularity(fitted):
    ids, scores = fitted.recommend(fitted.user_ids_[:3], 30, exclude_seen=False)
    users, items = fitted._head[:2]
    counts = fitted.rating_counts()[1]
    expected = users[:3] @ items.T + 1e-4 * counts / counts.max()
    rows = np.searchsorted(fitted.item_ids_, ids.astype(np.int64))
    np.testing.assert_allclose(scores, np.take_along_axis(expected, rows, axis=1), atol=1e-5)
    assert (np.diff(scores, axis=1) <= 0).all()
    pairs = np.repeat(fitted.user_ids_[:3], 30), ids.ravel()
    np.testing.assert_allclose(fitted.pair_scores(pairs), scores.ravel(), atol=1e-5)
    np.testing.assert_allclose(
        np.clip(fitted.pair_scores(pairs, by="rating"), *fitted.scale_), fitted.predict(pairs), atol=1e-5
    )


def test_unknown_users_get_what_is_popular(fitted):
    ids, _ = fitted.recommend([-1], 5, unknown="popular")
    order = np.argsort(-fitted.rating_counts()[1], kind="stable")
    assert ids[0].tolist() == fitted.item_ids_[order[:5]].tolist()


@pytest.mark.parametrize("user", [3, 44])
def test_a_known_user_given_as_a_list_gets_the_same_list(fitted, user):
    given = {fitted.item_ids_[row].item(): rating for row, rating in rated_by(user).items()}
    _, ids, scores = fitted.recommend_for(given, n=8)
    expected = fitted.recommend(fitted.user_ids_[[user]], 8)
    np.testing.assert_array_equal(ids, expected[0])
    np.testing.assert_allclose(scores, expected[1], atol=1e-4)
    by_rating = fitted.recommend_for(given, n=8, by="rating")
    assert by_rating[2].max() > 1.5 > scores.max()


def test_a_new_users_factors_are_the_oracles(fitted):
    given = {0: 5.0, 7: 1.0, 11: 4.0}
    _, ids, scores = fitted.recommend_for({fitted.item_ids_[row].item(): r for row, r in given.items()}, n=27)
    counts = fitted.rating_counts()[1]
    expected = fitted._head.item_factors.astype(np.float64) @ solved(fitted, given) + 1e-4 * counts / counts.max()
    rows = np.searchsorted(fitted.item_ids_, ids[0].astype(np.int64))
    assert set(rows) == set(range(30)) - set(given)
    np.testing.assert_allclose(scores[0], expected[rows], atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("model", [MatrixFactorization, LSHMF])
def test_learned_when_first_asked_for_and_kept(model, tmp_path):
    fresh = model(n_factors=4, n_epochs=2, device="cpu").fit(RATINGS)
    assert not fresh.has_lists
    fresh.recommend(n=2, by="rating")
    assert not fresh.has_lists
    expected = fresh.recommend(n=4)
    assert fresh.has_lists
    fresh.save(tmp_path / "m")
    again = load_model(tmp_path / "m").set_params(device="cpu")
    assert again.has_lists and all(map(np.array_equal, again._head, fresh._head))
    for one, other in zip(again.recommend(n=4), expected):
        np.testing.assert_array_equal(one, other)
    fresh.partial_fit((fresh.user_ids_[:2], fresh.item_ids_[:2], np.array([5.0, 4.0])))
    assert not fresh.has_lists
    fresh.fit(RATINGS)
    assert not fresh.has_lists


def test_threads_share_one(monkeypatch):
    fresh = MatrixFactorization(n_factors=4, n_epochs=2, device="cpu").fit(RATINGS)
    expected, calls, found = copy.deepcopy(fresh).recommend(n=3), [], []
    learned = learning.learn_head
    monkeypatch.setattr(learning, "learn_head", lambda *asked: calls.append(1) or learned(*asked))
    threads = [threading.Thread(target=lambda: found.append(fresh.recommend(n=3))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1 and len(found) == 6
    for ids, _ in found:
        np.testing.assert_array_equal(ids, expected[0])


def test_the_same_on_every_run(fitted):
    again = MatrixFactorization(n_factors=4, n_epochs=3, device="cpu").fit(RATINGS).fit_lists()
    assert all(map(np.array_equal, again._head, fitted._head))


@pytest.mark.parametrize("by", ["ratings", None, 1])
def test_another_ranking_is_refused(fitted, by):
    with pytest.raises(ParameterError, match="by must be one of 'lists', 'rating'"):
        fitted.recommend(by=by)


@pytest.mark.parametrize(
    "name, array, message",
    [
        ("user_factors", np.zeros((59, 30), np.float32), "head.user_factors"),
        ("item_factors", np.zeros((30, 29), np.float32), "head.user_factors"),
        ("item_factors", np.full((30, 30), np.nan, np.float32), "head.item_factors"),
        ("item_factors", np.zeros((30, 30)), "head.item_factors"),
        ("clicks", np.full(30, -1), "head.clicks"),
        ("clicks", np.zeros(29, np.int64), "head.clicks"),
        ("numbers", np.array([1.0, np.inf, 1]), "head.numbers"),
        ("numbers", np.array([1.0, -1, 1]), "head.numbers"),
        ("numbers", np.zeros(2), "head.numbers"),
    ],
)
def test_a_forged_head_is_refused(fitted, tmp_path, name, array, message):
    fitted.save(tmp_path / "m")
    header, arrays = load_arrays(tmp_path / "m")
    save_arrays(tmp_path / "m", header, {**arrays, f"head.{name}": array})
    with pytest.raises((ModelError, DataError), match=message):
        load_model(tmp_path / "m")


def test_half_a_head_is_refused(fitted, tmp_path):
    fitted.save(tmp_path / "m")
    header, arrays = load_arrays(tmp_path / "m")
    save_arrays(tmp_path / "m", header, {k: v for k, v in arrays.items() if k != "head.numbers"})
    with pytest.raises(ModelError, match="head.numbers"):
        load_model(tmp_path / "m")
