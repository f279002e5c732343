"""Predictions: Eq. (1) from the fitted arrays, all kinds of input, unknown ids."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from factorization import naive
from factorization.inputs import make, planted, same_state
from gpukit.errors import DataError, GpukitError
from gpukit.factorization import LSHMF, MatrixFactorization, cpu, plan
from gpukit.factorization.arrays import Scale, unscale
from gpukit.ratings import as_ratings

BOTH = pytest.mark.parametrize("model", [MatrixFactorization, LSHMF])


@pytest.fixture(scope="module", params=[MatrixFactorization, LSHMF])
def fitted(request):
    """A model of the rows of planted()."""
    return make(request.param, n_epochs=10, learning_rate=0.4).fit(planted())


def by_hand(model, user, item):
    """Return Eq. (1) of one pair of rows, in rating units.

    It uses the fitted arrays only.
    """

    s, scale = model._state, model._scale
    ratings = planted()
    z = (ratings.values.astype(float) - scale.mean) / scale.deviation
    r = dict(zip(zip(ratings.users.tolist(), ratings.items.tolist()), z))
    (b, sq, base), (b_hat, sq_hat, base_hat) = s.user_extras.T, s.item_extras.T
    m = naive.Model(
        np.float64,
        s.neighbors,
        r,
        U=s.user_factors,
        V=s.item_factors,
        b=b,
        s=sq,
        base=base,
        b_hat=b_hat,
        s_hat=sq_hat,
        base_hat=base_hat,
        W=s.influence[:, 0],
        C=s.influence[:, 1],
    )
    return naive.predict(m, user, item) * scale.deviation + scale.mean


def test_predictions_are_equation_1(fitted):
    ratings = planted()
    rows = np.array([(i, j) for i in range(0, 60, 7) for j in range(30)])
    predicted = fitted.predict((ratings.user_ids[rows[:, 0]], ratings.item_ids[rows[:, 1]]))
    expected = np.array([by_hand(fitted, *row) for row in rows.tolist()])
    np.testing.assert_allclose(predicted, np.clip(expected, 1, 5), atol=2e-5)
    assert predicted.dtype == np.float32 and (expected > 5).any() and predicted.max() == 5  # clipping has an effect


def test_kinds_of_input_agree(fitted):
    ratings = planted().take(slice(0, 50))
    users, items = ratings.user_ids[ratings.users], ratings.item_ids[ratings.items]
    expected = fitted.predict((users, items))
    triples = pd.DataFrame({"user": users, "item": items, "rating": ratings.values})
    for kind in (
        ratings,
        np.stack([users, items], axis=1),
        (users.tolist(), items.tolist()),
        triples,
        triples[["user", "item"]],
        triples[["rating", "item", "user"]],
        (users.astype(str), items.astype(str)),
    ):
        np.testing.assert_array_equal(fitted.predict(kind), expected)


@pytest.mark.parametrize(
    "spell",
    [np.asarray, np.ndarray.tolist, pd.Series, lambda ids: ids.astype(str), lambda ids: ids.astype(str).tolist()],
)
def test_users_and_items_are_pairs(fitted, spell):
    """Two arguments give the result of a pair, unknown ids included."""
    ratings = planted().take(slice(0, 50))
    users = np.append(ratings.user_ids[ratings.users], [-1, fitted.user_ids_[5], -1])
    items = np.append(ratings.item_ids[ratings.items], [fitted.item_ids_[3], -1, -1])
    expected = fitted.predict((users, items), unknown="baseline")
    np.testing.assert_array_equal(fitted.predict(spell(users), spell(items), unknown="baseline"), expected)
    scores = fitted.pair_scores((users, items), by="rating", unknown="baseline")
    np.testing.assert_array_equal(
        fitted.pair_scores(spell(users), spell(items), by="rating", unknown="baseline"), scores
    )
    with pytest.warns(UserWarning, match="Of 53 pairs, 2 have a user and 2 an item"):
        fitted.predict(spell(users), spell(items))
    with pytest.raises(DataError, match="Of 53 pairs, 2 have a user"):
        fitted.predict(spell(users), spell(items), unknown="error")


def test_single_ids_are_arrays_of_one(fitted):
    user, item = fitted.user_ids_[5], fitted.item_ids_[3]
    expected = fitted.predict(([user], [item]))
    for ids in ((user, item), (int(user), int(item)), (str(user), str(item)), (np.array(user), [item])):
        predicted = fitted.predict(*ids)
        np.testing.assert_array_equal(predicted, expected)
        assert predicted.shape == (1,) and predicted.dtype == np.float32


@pytest.mark.parametrize(
    "users, items, message",
    [
        ([1, 2, 3], [1, 2], r"users have shape \(3,\), the items \(2,\)\. Pass two one-dimensional arrays of equal"),
        ([1, 2], 1, r"users have shape \(2,\), the items \(1,\)"),
        (np.zeros((3, 2), int), [1, 2, 3], r"users have shape \(3, 2\), the items \(3,\)"),
        (np.zeros((3, 2), int), "baseline", r"users have shape \(3, 2\), the items \(1,\)"),
        (pd.Series([1, 2]), pd.Series([1, 2], index=[5, 6]), "labels"),
        ([1.5], [1], "user id 1.5 is not a whole number"),
        ([1], [None], "item"),
        (planted(), [1], "user"),
    ],
)
def test_users_and_items_that_are_no_pairs(fitted, users, items, message):
    for ask in (fitted.predict, fitted.pair_scores):
        with pytest.raises(DataError, match=message):
            ask(users, items)


def test_sparse_and_dense_matrices_agree():
    ratings = planted()
    matrix = scipy.sparse.coo_matrix((ratings.values, (ratings.users, ratings.items)), ratings.shape)
    dense = np.full(ratings.shape, np.nan)
    dense[ratings.users, ratings.items] = ratings.values
    in_order = as_ratings(matrix)
    frame = pd.DataFrame({"user": in_order.users, "item": in_order.items, "rating": in_order.values})
    models = [make(MatrixFactorization, deterministic=True).fit(X) for X in (in_order, matrix.tocsr(), dense, frame)]
    for other in models[1:]:
        assert same_state(models[0], other)
    np.testing.assert_array_equal(models[0].predict(in_order), models[0].predict(matrix))
    assert models[0].score(dense) == models[0].score(matrix)


def test_unknown_users_and_items(fitted):
    user, item = fitted.user_ids_[5], fitted.item_ids_[3]
    both, no_user, no_item, nothing = fitted.predict(([user, -1, user, -1], [item, item, -1, -1]))
    deviation = fitted._scale.deviation
    assert nothing == pytest.approx(fitted.mean_, abs=1e-5)
    expected = fitted.mean_ + deviation * fitted._state.user_extras[5, 0]
    assert no_item == pytest.approx(np.clip(expected, 1, 5), abs=1e-5)
    item_bias = fitted._state.item_extras[3, 0]
    if fitted.neighbors_.shape[1]:
        item_bias += fitted._state.influence[3, 1].sum() / 2  # four neighbours, all unrated
    assert no_user == pytest.approx(np.clip(fitted.mean_ + deviation * item_bias, 1, 5), abs=1e-5)
    assert fitted.predict((["nobody", "7"], [str(item)] * 2))[0] == no_user


def test_pairs_are_done_a_tile_at_a_time(fitted, monkeypatch):
    """More pairs than memory: tiles, with the results of the whole."""
    ratings, sizes = planted().take(slice(0, 50)), []
    predicted, judged = fitted.predict(ratings), fitted.evaluate(ratings)
    monkeypatch.setattr(cpu.DeviceModel, "pair_bytes", 7 * plan.pair_bytes(fitted._session().layout))
    ask = cpu.DeviceModel.ask
    monkeypatch.setattr(cpu.DeviceModel, "ask", lambda own, *rows: sizes.append(len(rows[0])) or ask(own, *rows))
    np.testing.assert_array_equal(fitted.predict(ratings), predicted)
    assert sizes == [7] * 7 + [1]
    again = fitted.evaluate(ratings)
    assert sizes[8:] == [7] * 7 + [1] and all(again[name] == pytest.approx(judged[name], rel=1e-6) for name in judged)


def test_epochs_are_judged_a_tile_at_a_time(monkeypatch):
    train, test = planted().split(0.2, 0)
    model = MatrixFactorization(2, n_epochs=3, random_state=0)
    expected = model.fit(train, validation=test).history_
    monkeypatch.setattr(cpu.DeviceModel, "pair_bytes", 1)
    found = model.fit(train, validation=test).history_
    assert [entry["rmse"] for entry in found] == pytest.approx([entry["rmse"] for entry in expected], rel=1e-9)


def test_predicting_nothing(fitted):
    assert fitted.predict(([], [])).shape == (0,)
    assert fitted.predict(np.zeros((0, 2), int)).shape == (0,)


@pytest.mark.parametrize(
    "wrong, message",
    [
        (np.zeros((3, 3)), "pairs.*\\(3, 3\\)"),
        (np.zeros(4), "pairs.*\\(4,\\)"),
        (([1, 2], [1]), r"users have shape \(2,\), the items \(1,\)"),
    ],
)
def test_pairs_that_are_none(fitted, wrong, message):
    with pytest.raises(DataError, match=message):
        fitted.predict(wrong)


@BOTH
def test_not_fitted(model):
    for use in (
        lambda m: m.predict(([1], [1])),
        lambda m: m.recommend(),
        lambda m: m.similar_items(1),
        lambda m: m.save("x"),
        lambda m: m.score(planted()),
    ):
        with pytest.raises(GpukitError, match="not fitted"):
            use(make(model))


def test_what_is_beyond_float32_is_at_the_end_of_the_range():
    scale = Scale(3.0, 1e6, 1.0, 5.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = unscale(np.array([3e38, -3e38, 0.0], np.float32), scale)
    np.testing.assert_array_equal(found, [5, 1, 3])
