"""Held-out pairs: lists omit them; predictions and counts ignore them."""

import numpy as np
import pytest

from factorization.inputs import make, planted
from gpukit import load_model
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
def test_a_fraction_for_validation_is_not_listed(kind):
    ratings = planted()
    assert not shown(make(kind, validation_fraction=0.3).fit(ratings)) & pairs_of(ratings)
    train, test = ratings.split(0.3, 0)
    assert shown(make(kind).fit(train, validation=test)) & pairs_of(test)


def test_a_training_anew_holds_out_others():
    ratings = planted()
    model = make(MatrixFactorization, validation_fraction=0.3).fit(ratings)
    marked = len(model.seen_pairs())
    items, new = np.tile(model.item_ids_, 4), np.repeat([12, 14, 16, 18], len(model.item_ids_))
    model.partial_fit((new, items, np.full(len(items), 4.0)))
    assert model.updates_[-1]["rows"] == "anew" and len(model.seen_pairs()) > marked
    assert not shown(model) & (pairs_of(ratings) | set(zip(new.tolist(), items.tolist())))


def test_a_damaged_file(tmp_path):
    train, test = planted().split(0.3, 0)
    make(MatrixFactorization).fit(train).mark_seen(test).save(tmp_path / "m")
    header, arrays = load_arrays(tmp_path / "m")
    for seen in (arrays["seen"][::-1].copy(), arrays["seen"] + 1000, arrays["seen"].astype(np.int64), np.zeros(3)):
        save_arrays(tmp_path / "forged", header, {**arrays, "seen": seen})
        with pytest.raises(ModelError, match="seen"):
            load_model(tmp_path / "forged")


def test_refit_is_for_fitted_estimators(tmp_path):
    model = make(MatrixFactorization).fit(planted())
    model.save(tmp_path / "m")
    with pytest.raises(ParameterError, match="call fit first"):
        load_model(tmp_path / "m").refit(planted())
