"""Weighted ratings: weight 0 removes a rating, equal weights train as without weights."""

import numpy as np
import pytest

from factorization.inputs import ordered, planted, same_state
from gpukit.errors import DataError, ParameterError
from gpukit.factorization import LSHMF, MatrixFactorization, cpu
from gpukit.factorization.prepare.training_data import lay_out_weights, order_weights, weighted_moments
from gpukit.ratings import read_ratings

NAMED = {"device": "cpu", "n_factors": 4, "n_epochs": 3, "regularization": 0.05}
ALS = {"solver": "als", "n_epochs": 2}
MODELS = pytest.mark.parametrize(
    "model, more",
    [
        (MatrixFactorization, {}),
        (MatrixFactorization, {"deterministic": True}),
        (MatrixFactorization, ALS),
        (LSHMF, {}),
    ],
    ids=["sgd", "deterministic", "als", "neighbours"],
)


def table(seed=1):
    """Ratings and their weights, some of them 0."""
    ratings = planted(60, 30, 0.5, seed=seed)
    return ratings, np.random.default_rng(seed).integers(0, 4, len(ratings)).astype(float)


def make(model, **more):
    return model(**{**NAMED, **({"lsh_q": 20, "n_neighbors": 5} if model is LSHMF else {}), **more})


@MODELS
def test_weight_0_is_not_there(model, more, one_thread):
    ratings, weights = table()
    fitted = make(model, **more).fit(ratings, sample_weight=weights)
    without = make(model, **more).fit(ratings.take(weights > 0), sample_weight=weights[weights > 0])
    assert same_state(fitted, without) and fitted.mean_ == without.mean_
    assert fitted._rated.indptr[-1] == np.count_nonzero(weights)


@MODELS
def test_equal_weights_are_no_weights(model, more, one_thread):
    ratings, weights = table()
    plain, different = make(model, **more).fit(ratings), make(model, **more).fit(ratings, sample_weight=weights + 1)
    assert not same_state(plain, different)
    for equal in (1, 7.5):
        assert same_state(plain, make(model, **more).fit(ratings, sample_weight=np.full(len(ratings), equal)))
    scaled = make(model, **more).fit(ratings, sample_weight=4 * (weights + 1))
    assert same_state(different, scaled)


@MODELS
def test_what_weighs_more_is_learned_better(model, more):
    ratings, _ = table()
    heavy = np.random.default_rng(0).random(len(ratings)) < 0.5
    plain, weighted = (
        make(model, n_factors=1, **more).fit(ratings, sample_weight=weights)
        for weights in (None, np.where(heavy, 10.0, 0.1))
    )
    part = ratings.take(heavy)
    assert weighted.score(part) > plain.score(part) + 0.01


def test_the_column_of_ratings_is_honoured(one_thread, tmp_path):
    ratings, weights = table()
    given = make(MatrixFactorization).fit(ratings, sample_weight=weights)
    column = ratings.with_columns(**ratings.columns(), weights=weights.astype(np.float32))
    assert same_state(given, make(MatrixFactorization).fit(column))
    rows = zip(ratings.user_ids[ratings.users], ratings.item_ids[ratings.items], ratings.values, weights)
    (tmp_path / "r.csv").write_text("".join(f"{u},{i},{r},{w}\n" for u, i, r, w in rows))
    read = read_ratings(tmp_path / "r.csv", columns="user,item,rating,weight")
    assert same_state(given, make(MatrixFactorization).fit(read))


def test_baselines_are_weighted_means():
    """Against plain loops over the ratings, in float64."""
    ratings, weights = table()
    weights += 0.5
    fitted = make(MatrixFactorization).fit(ratings, sample_weight=weights)
    w = weights / weights.mean()
    assert fitted.mean_ == pytest.approx(sum(w * ratings.values) / sum(w), rel=1e-6)
    user, item = np.zeros(ratings.shape[0]), np.zeros(ratings.shape[1])
    for _ in range(3):
        for own, rows, other, others in (
            (item, ratings.items, user, ratings.users),
            (user, ratings.users, item, ratings.items),
        ):
            for row in range(len(own)):
                mine = np.flatnonzero(rows == row)
                left = sum(w[t] * (ratings.values[t] - fitted.mean_ - other[others[t]]) for t in mine)
                own[row] = left / (sum(w[mine]) + 5.0)
    np.testing.assert_allclose(fitted.user_baseline_, user, atol=1e-5)
    np.testing.assert_allclose(fitted.item_baseline_, item, atol=1e-5)


def test_moments():
    values, weights = np.array([1, 4, 4], np.float32), np.array([2, 1, 1], np.float32)
    assert weighted_moments(values, weights) == (2.5, 1.5)


@pytest.mark.parametrize("walk", ["users", "items"])
def test_weights_follow_their_ratings(walk):
    """Each weight identifies its rating; the ratings are in random order."""
    from gpukit.factorization.prepare import training_data

    ratings, _ = table()
    ratings = ratings.take(np.random.default_rng(3).permutation(len(ratings)))
    numbers = np.arange(len(ratings), dtype=np.float32)
    ratings = ratings.with_columns(**ratings.columns(), weights=numbers)
    orders, steps = ordered(ratings), cpu
    side = training_data.side_of(orders, walk, training_data.scale_of(orders, ratings.values), 0, steps)
    found = lay_out_weights(order_weights(ratings, orders, steps), walk, side.where, steps).astype(int)
    major = np.repeat(np.arange(len(side.indptr) - 1), np.diff(side.indptr))
    users, items = (major, side.minor) if walk == "users" else (side.minor, major)
    assert sorted(found) == list(range(len(ratings)))
    assert (ratings.users[found] == users).all() and (ratings.items[found] == items).all()


def test_a_matrix_has_a_weight_a_user(one_thread):
    dense = np.where(np.random.default_rng(0).random((20, 12)) < 0.6, 3.0, np.nan)
    dense += np.arange(12) % 3
    weights = np.arange(20) % 3 + 0.5
    rows, columns = np.nonzero(~np.isnan(dense))
    one = make(MatrixFactorization).fit(dense, sample_weight=weights)
    pairs = make(MatrixFactorization).fit((rows, columns), dense[rows, columns], sample_weight=weights[rows])
    assert same_state(one, pairs)


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda w: -w, "is -"),
        (lambda w: np.where(np.arange(len(w)) == 3, np.nan, w), r"sample_weight\[3\] is nan"),
        (lambda w: w * np.inf, "is inf; weights are from 0 to 3.4e"),
        (lambda w: w.astype(float) * 0 + 1e-46, "is 1e-46; weights are from 0 to 3.4e.*not closer to 0 than float32"),
        (lambda w: w.astype(float) * 0 + 1e39, r"sample_weight\[0\] is 1e.39; weights are from 0 to 3.4e"),
        (lambda w: w[:-1], "a number a rating"),
        (lambda w: w[:, None], "a number a rating"),
        (lambda w: ["a"] * len(w), "must be numbers"),
        (lambda w: w * 0, "All weights are zero"),
    ],
    ids=["negative", "nan", "infinite", "too small", "too large", "short", "two dimensions", "text", "nothing"],
)
def test_bad_weights(change, words):
    ratings, weights = table()
    with pytest.raises(DataError, match=words):
        make(MatrixFactorization).fit(ratings, sample_weight=change(weights + 1))


def test_a_solver_that_cannot_says_so():
    ratings, weights = table()
    model = make(MatrixFactorization, solver="hogwild")
    with pytest.raises(ParameterError, match="hogwild.*takes no weights"):
        model.fit(ratings, sample_weight=weights)
    model.fit(ratings, sample_weight=np.ones(len(ratings)))  # equal weights are no weights


@pytest.mark.slow
def test_choosing_goes_by_weights():
    """Half of the ratings are noise with negligible weight; the choice fits the others."""
    ratings = planted(100, 40, 0.5, seed=1)
    noisy = np.random.default_rng(0).random(len(ratings)) < 0.5
    values = np.where(noisy, np.random.default_rng(1).integers(1, 6, len(ratings)), ratings.values).astype(np.float32)
    columns = {**ratings.columns(), "values": values}
    mixed, weights = ratings.with_columns(**columns), np.where(noisy, 1e-3, 1.0)
    fitted = MatrixFactorization(device="cpu").fit(mixed, sample_weight=weights)
    assert fitted.chosen_["predictor"] == "MatrixFactorization" and fitted.trials_[0]["rmse"] < 1.2
    alone = MatrixFactorization(device="cpu").fit(mixed)
    part = ratings.take(~noisy)
    assert fitted.score(part) > alone.score(part) + 0.05


def test_weights_are_routed():
    sklearn = pytest.importorskip("sklearn")
    from sklearn.model_selection import cross_val_score

    ratings, weights = table()
    X = np.column_stack((ratings.users, ratings.items))
    with sklearn.config_context(enable_metadata_routing=True):
        model = make(MatrixFactorization).set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        wanted = cross_val_score(model, X, ratings.values, params={"sample_weight": weights + 1}, cv=3)
        plain = cross_val_score(make(MatrixFactorization), X, ratings.values, cv=3)
    assert np.isfinite(wanted).all() and not (wanted == plain).any()


def test_weights_are_matched_by_their_labels(one_thread):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    pairs = rng.permutation(30 * 20)[:200]
    frame = pandas.DataFrame({"user": pairs // 20, "item": pairs % 20, "rating": rng.integers(1, 6, 200).astype(float)})
    given = pandas.Series(rng.integers(1, 4, 200).astype(float))
    shuffled, values = given.sample(frac=1, random_state=1), frame.rating.sample(frac=1, random_state=2)
    expected = make(MatrixFactorization).fit(frame, sample_weight=given.to_numpy())
    columns = frame.user, frame.item
    for X, y in (
        (frame, None),
        (frame[["user", "item"]], values),
        ((*columns, values), None),
        (columns, values),
        (tuple(column.to_numpy() for column in columns), frame.rating),
    ):
        assert same_state(make(MatrixFactorization).fit(X, y, sample_weight=shuffled), expected)
    with pytest.raises(DataError, match="labels"):
        make(MatrixFactorization).fit(frame, sample_weight=given.set_axis(range(1, 201)))
    for kind in ("datetime64[s]", complex, str):
        with pytest.raises(DataError, match="sample_weight"):
            make(MatrixFactorization).fit(frame, sample_weight=given.to_numpy().astype(kind))
