"""Explanations: parts add up to the prediction and follow Eq. (1)."""

import numpy as np
import pytest

from factorization.inputs import make, planted
from gpukit.errors import ParameterError
from gpukit.factorization import LSHMF, MatrixFactorization

PARTS = ("mean", "user_bias", "item_bias", "factors", "unrated")


def pairs(fitted):
    """Return known pairs, and pairs with an unknown user, item and both."""
    rng = np.random.default_rng(0)
    users, items = rng.choice(fitted.user_ids_, 60).tolist(), rng.choice(fitted.item_ids_, 60).tolist()
    return [*zip(users, items), (-1, items[0]), (users[0], -1), (-1, -2)]


def test_the_parts_add_up_to_the_prediction(fitted):
    asked = pairs(fitted)
    predicted = fitted.predict(tuple(np.array(column) for column in zip(*asked)))
    for (user, item), value in zip(asked, predicted.tolist()):
        found = fitted.explain(user, item, by="rating", unknown="baseline")
        total = sum(getattr(found, name) for name in PARTS) + sum(one.share for one in found.rated)
        assert total == pytest.approx(found.total, abs=1e-9)
        assert found.prediction == pytest.approx(value, abs=4e-6) and (found.user, found.item) == (user, item)
        assert found.prediction == pytest.approx(np.clip(total, *fitted.scale_), abs=4e-6)
        assert found.clipped == (not fitted.scale_[0] <= np.float32(total) <= fitted.scale_[1])


def test_what_lies_beyond_the_scale_is_cut_off(fitted, monkeypatch):
    total = fitted.explain(7, 1, by="rating").total
    for low, high, cut in ((1.0, total - 0.1, total - 0.1), (total + 0.1, 9.0, total + 0.1), (0.0, 9.0, total)):
        monkeypatch.setattr(fitted, "_scale", fitted._scale._replace(low=low, high=high))
        found = fitted.explain(7, 1, by="rating")
        assert found.total == total and found.prediction == pytest.approx(cut, abs=1e-6)
        assert found.clipped is (cut != total)
        assert found.prediction == pytest.approx(fitted.predict(([7], [1]))[0], abs=4e-6)


def test_rated_neighbours_are_the_users_ratings(fitted):
    ratings = planted()
    given = {
        (int(ratings.user_ids[user]), int(ratings.item_ids[item])): float(value)
        for user, item, value in zip(ratings.users, ratings.items, ratings.values)
    }
    seen = 0
    for user, item in pairs(fitted)[:60]:
        found = fitted.explain(user, item, by="rating")
        row, column = np.searchsorted(fitted.user_ids_, user), np.searchsorted(fitted.item_ids_, item)
        near = fitted.item_ids_[fitted.neighbors_[column]].tolist()
        assert sorted(one.item for one in found.rated) == sorted(one for one in near if (user, one) in given)
        assert found.n_unrated == len(near) - len(found.rated)
        shares = [abs(one.share) for one in found.rated]
        assert shares == sorted(shares, reverse=True)
        for one in found.rated:
            other, slot = np.searchsorted(fitted.item_ids_, one.item), near.index(one.item)
            assert one.rating == given[user, one.item]
            usual = fitted.mean_ + fitted.user_baseline_[row] + fitted.item_baseline_[other]
            assert one.expected == pytest.approx(usual, abs=1e-5)
            weight = fitted.explicit_influences_[column, slot] / len(found.rated) ** 0.5
            assert one.weight == pytest.approx(weight, rel=1e-5)
            assert one.share == pytest.approx((one.rating - one.expected) * weight, abs=1e-5)
            seen += 1
    assert (seen > 20) == bool(fitted.neighbors_.shape[1])


def test_what_is_unknown_has_no_part(fitted):
    nobody = fitted.explain(-1, fitted.item_ids_[3], by="rating", unknown="baseline")
    assert (nobody.known_user, nobody.known_item, nobody.user_ratings) == (False, True, 0)
    assert nobody.user_bias == nobody.factors == 0 and nobody.rated == () and nobody.item_bias != 0
    nothing = fitted.explain("?", "?", by="rating", unknown="baseline")
    assert nothing.total == nothing.mean and (nothing.user, nothing.item) == ("?", "?")


def test_ids_are_the_models_own(fitted):
    found = fitted.explain(str(fitted.user_ids_[3]), str(fitted.item_ids_[4]), by="rating")
    assert (found.user, found.item) == (fitted.user_ids_[3].item(), fitted.item_ids_[4].item())


def test_biases_alone(bare):
    found = bare.explain(bare.user_ids_[3], bare.item_ids_[4], by="rating")
    assert found.factors == 0 and found.rated == () and found.n_unrated == 0
    assert found.prediction == pytest.approx(bare.predict(([found.user], [found.item]))[0], abs=1e-6)


def test_evidence_counts_ratings(fitted):
    ratings = planted()
    users, items = np.array([7, 17, -1]), np.array([1, 99, 4])
    of_users, of_items = fitted.evidence(users, items, unknown="zero")
    assert of_users.tolist() == [*(int((ratings.user_ids[ratings.users] == one).sum()) for one in (7, 17)), 0]
    assert of_items.tolist() == [int((ratings.item_ids[ratings.items] == one).sum()) for one in items]
    assert sum(fitted.rating_counts()[0]) == sum(fitted.rating_counts()[1]) == len(ratings)
    found = fitted.explain(7, 1, by="rating")
    assert (found.user_ratings, found.item_ratings) == (of_users[0], of_items[0])


@pytest.mark.parametrize("kind", [MatrixFactorization, LSHMF])
def test_after_new_ratings_the_answers_are_of_all(kind):
    """A new user with an id between the known ones, and a new item."""
    model = make(kind).fit(planted())
    before = model.evidence([7], [1])
    model.similar_items(1, 3, with_evidence=True)
    model.partial_fit((np.full(8, 12), np.array([1, 4, 7, 10, 13, 16, 19, 2]), np.full(8, 4.0)))
    assert model.evidence([7], [1])[1] == before[1] + 1 and model.evidence([12], [2]) == (8, 1)
    for user, item in ((12, 25), (12, 2), (7, 2), (17, 1)):
        found = model.explain(user, item, by="rating")
        total = sum(getattr(found, name) for name in PARTS) + sum(one.share for one in found.rated)
        assert np.clip(total, *model.scale_) == pytest.approx(model.predict(([user], [item]))[0], abs=4e-6)
    ids, _, common, _ = model.similar_items(2, 100, with_evidence=True)
    assert set(ids.tolist()) == {1, 4, 7, 10, 13, 16, 19} and set(common.tolist()) == {1}
    assert {one.rating for one in model.explain(12, 25, by="rating").rated} <= {4.0}


@pytest.mark.parametrize("kind", [MatrixFactorization, LSHMF])
def test_the_score_of_lists_by_default(kind):
    """The parts add up to the score of recommend.

    A rating's share is the change of the score without it.
    """
    model = make(kind).fit(planted())
    users = model.user_ids_[:20]
    items, scores = model.recommend(users, n=5)
    predicted = model.predict((np.repeat(users, 5), items.ravel())).reshape(scores.shape)
    assert np.abs(scores - predicted).min() > 0.1
    for user, listed, theirs in zip(users.tolist(), items.tolist(), scores.tolist()):
        for item, score in zip(listed, theirs):
            found = model.explain(user, item)
            assert found.by == "lists" and found == model.explain(user, item, by="lists") and not found.clipped
            total = sum(getattr(found, name) for name in PARTS) + sum(one.share for one in found.rated)
            assert total == pytest.approx(found.total, abs=1e-9)
            assert found.prediction == pytest.approx(score, abs=2e-6)
            assert abs(found.factors) < 1e-4 and len(found.rated) == found.user_ratings
            shares = [abs(one.share) for one in found.rated]
            assert shares == sorted(shares, reverse=True) and shares[0] > 0
            assert {one.expected for one in found.rated} == {None}


def test_the_rest_of_the_ratings_gives_the_rest_of_the_score(fitted):
    """The shares add up to the product of the factors."""
    head, user = fitted._learned_head(), 7
    row = int(np.searchsorted(fitted.user_ids_, user))
    for column in (0, 5, 11):
        found = fitted.explain(user, fitted.item_ids_[column])
        product = head.user_factors[row].astype(float) @ head.item_factors[column]
        assert sum(one.share for one in found.rated) == pytest.approx(product, abs=1e-4)
        given = {one.item: one.rating for one in found.rated}
        ratings = planted()
        mine = ratings.users == np.searchsorted(ratings.user_ids, user)
        assert given == dict(zip(ratings.item_ids[ratings.items[mine]].tolist(), ratings.values[mine].tolist()))


def test_lists_of_the_unknown_and_other_scores(fitted):
    item = fitted.item_ids_[3]
    nobody = fitted.explain(-1, item, unknown="baseline")
    assert not nobody.known_user and nobody.rated == () and nobody.prediction == pytest.approx(nobody.item_bias)
    assert nobody.prediction == pytest.approx(float(fitted.pair_scores(([-1], [item]))[0]), abs=1e-7)
    nothing = fitted.explain(7, -1, unknown="baseline")
    assert nothing.prediction == 0.0 and not nothing.known_item
    with pytest.raises(ParameterError, match="by"):
        fitted.explain(7, item, by="popularity")
