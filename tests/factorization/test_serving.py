"""Recommendations against scoring everything and sorting."""

import numpy as np
import pytest

from factorization import naive
from factorization.inputs import planted
from gpukit.errors import DataError, ParameterError
from gpukit.factorization import LSHMF, MatrixFactorization, cpu


@pytest.fixture(scope="module", params=[MatrixFactorization, LSHMF])
def fitted(request):
    parameters = {"n_neighbors": 4, "lsh_q": 20} if request.param is LSHMF else {}
    return request.param(n_factors=4, n_epochs=6, device="cpu", **parameters).fit(planted(density=0.6))


def seen_items(user):
    ratings = planted(density=0.6)
    return set(ratings.item_ids[ratings.items[ratings.user_ids[ratings.users] == user]].tolist())


def scores_of(fitted, user, exclude_seen=True):
    """Return {item id: score} by predict, without clipping."""
    scale = fitted._scale
    fitted._scale = scale._replace(low=-1e9, high=1e9)
    predicted = fitted.predict((np.full(30, user), fitted.item_ids_))
    fitted._scale = scale
    return dict(zip(fitted.item_ids_.tolist(), predicted.tolist()))


@pytest.mark.parametrize("exclude_seen", [True, False])
def test_recommend_is_scoring_all_and_sorting(fitted, exclude_seen):
    users = fitted.user_ids_[[4, 0, 59, 4]]
    ids, scores = fitted.recommend(users, 5, exclude_seen, by="rating")
    assert ids.shape == scores.shape == (4, 5) and scores.dtype == np.float32
    for user, mine, its in zip(users, ids, scores):
        seen = seen_items(user) if exclude_seen else set()
        assert not seen & set(mine.tolist())
        expected = naive.ranking(scores_of(fitted, user), seen, 5)
        np.testing.assert_allclose(its, [score for _, score in expected], rtol=1e-5)
        assert mine.tolist() == [item for item, _ in expected]
    np.testing.assert_array_equal(ids[0], ids[3])


def test_more_than_there_are(fitted):
    users = fitted.user_ids_[:8]
    ids, scores = fitted.recommend(users, 40)
    assert ids.shape == scores.shape == (8, 40)
    for user, mine, its in zip(users, ids, scores):
        left = 30 - len(seen_items(user))
        assert all(item is not None for item in mine[:left]) and all(item is None for item in mine[left:])
        assert np.isfinite(its[:left]).all() and np.isnan(its[left:]).all()
        assert set(mine[:left]) == set(fitted.item_ids_.tolist()) - seen_items(user)
    ids, scores = fitted.recommend(users, 30, exclude_seen=False)
    assert np.isfinite(scores).all() and ids.dtype.kind == "i" and (np.sort(ids) == fitted.item_ids_).all()


def test_everybody(fitted):
    ids, scores = fitted.recommend(n=3)
    assert ids.shape == (60, 3)
    one_by_one = [fitted.recommend(user, 3) for user in fitted.user_ids_]
    np.testing.assert_array_equal(ids, np.concatenate([each[0] for each in one_by_one]))
    np.testing.assert_array_equal(scores, np.concatenate([each[1] for each in one_by_one]))


@pytest.mark.parametrize("tile", [1, 7, 59, 60, 1000])
def test_tiles_are_the_whole(fitted, tile, monkeypatch):
    ids, scores = fitted.recommend(n=28)
    monkeypatch.setattr(cpu.DeviceModel, "tile_users", lambda self: tile)
    tiles = list(fitted.recommend_batches(n=28))
    assert len(tiles) == -(-60 // tile)
    np.testing.assert_array_equal(np.concatenate([users for users, _, _ in tiles]), fitted.user_ids_)
    np.testing.assert_array_equal(np.concatenate([each for _, each, _ in tiles]), ids)
    np.testing.assert_array_equal(np.concatenate([each for _, _, each in tiles]), scores)


def test_unknown_users_get_what_is_liked_in_general(fitted):
    ids, scores = fitted.recommend([-5, 10**9], 4, by="rating", unknown="popular")
    expected = naive.ranking(scores_of(fitted, -5), set(), 4)
    assert ids.tolist() == [[item for item, _ in expected]] * 2
    np.testing.assert_allclose(scores[0], [score for _, score in expected], rtol=1e-5)


def test_unknown_users_are_refused_and_named(fitted):
    known = fitted.user_ids_[:2].tolist()
    with pytest.raises(DataError, match=r"does not know 2 of 4 users \(-5, 1000000000\).*unknown='popular'"):
        fitted.recommend([known[0], -5, 10**9, known[1]], 4)
    with pytest.raises(DataError, match="1 of 1 users"):
        list(fitted.recommend_batches(-5, 4))
    with pytest.raises(ParameterError, match="unknown must be"):
        fitted.recommend(known, unknown="zero")


def test_unknown_users_are_skipped(fitted):
    known = fitted.user_ids_[:2].tolist()
    ids, scores = fitted.recommend([known[0], -5, known[1]], 4, unknown="skip")
    expected = fitted.recommend(known, 4)
    np.testing.assert_array_equal(ids, expected[0])
    np.testing.assert_array_equal(scores, expected[1])
    (users, _, _), *_ = fitted.recommend_batches([known[0], -5], 4, unknown="skip")
    assert users.tolist() == known[:1]
    assert fitted.recommend([-5], 4, unknown="skip")[0].shape == (0, 4)


@pytest.mark.parametrize("users", [b"1", [b"1"], np.array([b"1"]), {}, {1: 2}, [{}], [True], [1.5], [[1, 2]], object()])
@pytest.mark.parametrize("unknown", ["error", "popular", "skip"])
def test_ids_of_a_wrong_type(fitted, users, unknown):
    with pytest.raises(DataError):
        fitted.recommend(users, 4, unknown=unknown)


def test_nobody(fitted):
    ids, scores = fitted.recommend([], 4)
    assert ids.shape == scores.shape == (0, 4)


@pytest.mark.parametrize("items", [None, [3, 5], {3}, np.array([3, 5]), np.array([True]), 2, 0.0, "no"])
def test_items_are_not_excluded_by_exclude_seen(fitted, items):
    """They would count as True or, if none, as False."""
    for work in (fitted.recommend, lambda **options: fitted.recommend_for({fitted.item_ids_[0]: 3.0}, **options)):
        with pytest.raises(ParameterError, match="exclude_seen must be .*True.*False"):
            work(n=4, exclude_seen=items)


@pytest.mark.parametrize("n", [0, -1, 2.5, "x"])
def test_n_out_of_bounds(fitted, n):
    with pytest.raises(ParameterError, match="n must be an integer"):
        fitted.recommend(n=n)
