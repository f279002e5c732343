"""Held-out pairs: lists omit them; predictions and counts ignore them."""

import numpy as np
import pandas
import pytest

from factorization.inputs import make, planted
from gpukit import as_ratings, load_model
from gpukit.errors import ModelError, ParameterError
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.persist import load_arrays, save_arrays

BOTH = pytest.mark.parametrize("kind", [MatrixFactorization, LSHMF])


def shown(model, **how):
    """Return {(user, item)} of lists of full length."""
    ids, scores = model.recommend(n=len(model.item_ids_), **how)
    users = np.repeat(model.user_ids_, ids.shape[1]).reshape(ids.shape)
    there = ~np.isnan(scores)
    return set(zip(users[there].tolist(), ids[there].tolist()))


def pairs_of(ratings):
    return set(zip(ratings.user_ids[ratings.users].tolist(), ratings.item_ids[ratings.items].tolist()))


@BOTH
@pytest.mark.parametrize("by", ["lists", "rating"])
def test_marked_pairs_are_not_listed(kind, by, tmp_path):
    train, test = planted().split(0.3, 0)
    model = make(kind).fit(train)
    before, predicted, counts = shown(model, by=by), model.predict(test), model.rating_counts()
    ids, scores = model.recommend(n=3, by=by, exclude_seen=False)
    assert model.mark_seen(test) is model and pairs_of(test) <= before
    model.save(tmp_path / "m")
    for again in (model, load_model(tmp_path / "m").set_params(device="cpu")):
        assert shown(again, by=by) == before - pairs_of(test)
        np.testing.assert_array_equal(again.predict(test), predicted)
        for now, then in zip(again.rating_counts(), counts):
            np.testing.assert_array_equal(now, then)
        np.testing.assert_array_equal(again.recommend(n=3, by=by, exclude_seen=False)[0], ids)
        assert (np.diff(again.recommend(n=3, by=by)[1]) <= 0).all()


def test_they_stay_marked_after_new_ratings():
    train, test = planted().split(0.3, 0)
    model = make(LSHMF).fit(train).mark_seen(test)
    model.partial_fit((np.full(8, 12), np.array([1, 4, 7, 10, 13, 16, 19, 2]), np.full(8, 4.0)), rows="frozen")
    assert not shown(model) & pairs_of(test) and 12 in model.user_ids_
    model.partial_fit((np.full(8, 14), np.array([1, 4, 7, 10, 13, 16, 19, 2]), np.full(8, 4.0)))
    assert not shown(model) & pairs_of(test)
    assert shown(model.fit(train)) & pairs_of(test)


@BOTH
@pytest.mark.parametrize("held_out", [0.0, 0.3])
def test_ratings_of_weight_0_are_not_listed(kind, held_out):
    ratings = planted()
    weights = (np.arange(len(ratings)) % 3 > 0).astype(float)
    model = make(kind, validation_fraction=held_out).fit(ratings, sample_weight=weights)
    assert not shown(model) & pairs_of(ratings)


@BOTH
def test_a_fraction_for_validation_is_not_listed(kind):
    ratings = planted()
    assert not shown(make(kind, validation_fraction=0.3).fit(ratings)) & pairs_of(ratings)
    train, test = ratings.split(0.3, 0)
    assert shown(make(kind).fit(train, validation=test)) & pairs_of(test)


def test_a_training_anew_holds_out_no_others():
    ratings = planted()
    model = make(MatrixFactorization, validation_fraction=0.3).fit(ratings)
    marked, learned = len(model.seen_pairs()), len(model._rated.items)
    items, new = np.tile(model.item_ids_, 4), np.repeat([12, 14, 16, 18], len(model.item_ids_))
    model.partial_fit((new, items, np.full(len(items), 4.0)))
    assert model.updates_[-1]["rows"] == "anew" and len(model.seen_pairs()) == marked
    assert len(model._rated.items) == learned + len(items)
    assert not shown(model) & (pairs_of(ratings) | set(zip(new.tolist(), items.tolist())))


def test_a_damaged_file(tmp_path):
    model = make(MatrixFactorization, solver="ials", positive_from=3, validation_fraction=0.3)
    model.fit(with_low_ones()).save(tmp_path / "m")
    header, arrays = load_arrays(tmp_path / "m")
    for name in ("seen", "low"):
        pairs = arrays[name]
        for wrong in (pairs[::-1].copy(), pairs + 1000, pairs.astype(np.int64), np.zeros(3)):
            save_arrays(tmp_path / "forged", header, {**arrays, name: wrong})
            with pytest.raises(ModelError, match=name):
                load_model(tmp_path / "forged")


def test_refit_is_for_fitted_estimators(tmp_path):
    model = make(MatrixFactorization).fit(planted())
    model.save(tmp_path / "m")
    with pytest.raises(ParameterError, match="call fit first"):
        load_model(tmp_path / "m").refit(planted())


def with_low_ones(users=30, items=20, seed=0):
    """Ratings of 1 to 5 in columns: a user, an item and a rating."""
    rng = np.random.default_rng(seed)
    pairs = rng.permutation(users * items)[: users * items // 3]
    return pairs // items, pairs % items, rng.integers(1, 6, len(pairs)).astype(float)


@BOTH
@pytest.mark.parametrize("solver", ["ials", "ease"])
@pytest.mark.parametrize("held_out", [0.0, 0.3])
def test_ratings_below_the_threshold_of_clicks_are_not_listed(kind, solver, held_out, tmp_path):
    """Users know what they rated low; a 0 may mean that there is no rating."""
    users, items, values = with_low_ones()
    values[:40] = 0
    pairs = set(zip(users[40:].tolist(), items[40:].tolist()))
    chosen = dict(solver=solver, positive_from=4, validation_fraction=held_out, n_factors=None, n_epochs=None)
    model = make(kind, **chosen).fit((users, items, values))
    assert not shown(model) & pairs
    assert shown(model) & set(zip(users[:40].tolist(), items[:40].tolist()))
    model.save(tmp_path / "m")
    assert not shown(load_model(tmp_path / "m").set_params(device="cpu")) & pairs
    assert not shown(model.refit((users, items, values))) & pairs
    learned = dict(zip(zip(users.tolist(), items.tolist()), values.tolist()))
    assert {pair for pair, value in learned.items() if value < 4} <= shown(model, exclude_seen="clicks")
    later = np.array([[0, 1, 2, 0, 77, 5], [3, 4, 5, 6, 3, 88], [1, 5, 2, 3, 1, 2]])  # 77 and 88 have no click
    before, rated = shown(model), set(zip(later[0].tolist(), later[1].tolist()))
    model.partial_fit((later[0], later[1], later[2].astype(float)))
    of_known = {(user, item) for user, item in shown(model) if user != 77 and item != 88}
    assert of_known == before - rated and not shown(model) & rated
    model.save(tmp_path / "m")
    assert shown(load_model(tmp_path / "m").set_params(device="cpu")) == shown(model)
    given = (np.full(4, 99), np.arange(4), np.array([5.0, 2.0, 0.0, 5.0]))
    listed = model.recommend_for(given, n=21)[1].ravel().tolist()
    assert not {0, 1, 3} & set(listed) and 2 in listed
    assert {0, 1, 2, 3} <= set(model.recommend_for(given, n=21, exclude_seen=False)[1].ravel().tolist())


@pytest.mark.parametrize("solver", ["ials", "ease", "sampled"])
def test_users_who_rated_all_below_the_threshold_get_popular_items(solver):
    """They have no click, and no list would show what they know."""
    model = make(MatrixFactorization, solver=solver, positive_from=4, n_factors=None, n_epochs=None)
    model.fit(with_low_ones())
    popular = model.recommend([-1], 20, unknown="popular")[0][0].tolist()
    for given in ({5: 1.0}, {5: 1.0, 6: 2.0}, ([8, 7, 8], [5, 3, 6], [1.0, 5.0, 1.0])):
        users, items, _ = model.recommend_for(given, n=20)
        assert users.tolist() == ([0] if isinstance(given, dict) else [7, 8])
        rated = {5, 6} if not isinstance(given, dict) else set(given)
        assert [item for item in items[-1] if item is not None] == [item for item in popular if item not in rated]


def test_counts_below_the_threshold_of_clicks_are_not_listed():
    users, items, values = with_low_ones()
    frame = pandas.DataFrame({"user": users, "item": items, "count": values})
    model = make(MatrixFactorization, solver="ials", positive_from=3).fit(as_ratings(frame))
    assert not shown(model) & set(zip(users.tolist(), items.tolist()))
