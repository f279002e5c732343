"""Fitted attributes add up to the predictions; pairs and ratings in every form."""

import numpy as np
import pandas
import pytest
from base.inputs import OnDevice

from factorization.inputs import make, planted
from gpukit import SimLSH
from gpukit.errors import DataError
from gpukit.factorization import LSHMF, MatrixFactorization

BOTH = pytest.mark.parametrize("model", [MatrixFactorization, LSHMF])


def by_attributes(model, ratings, i, j):
    """Predict rows (i, j) from documented attributes only, in float64."""
    rated = {(u, k): float(r) for u, k, r in zip(ratings.users.tolist(), ratings.items.tolist(), ratings.values)}
    found = float(model.mean_) + float(model.user_bias_[i]) + float(model.item_bias_[j])
    found += model.user_factors_[i].astype(np.float64) @ model.item_factors_[j].astype(np.float64)
    near = list(enumerate(model.neighbors_[j].tolist()))
    ours = [(slot, k) for slot, k in near if (i, k) in rated]
    rest = [slot for slot, k in near if (i, k) not in rated]
    for slot, k in ours:
        baseline = model.mean_ + float(model.user_baseline_[i]) + float(model.item_baseline_[k])
        found += (rated[i, k] - baseline) * model.explicit_influences_[j, slot] / len(ours) ** 0.5
    for slot in rest:
        found += model.implicit_influences_[j, slot] / len(rest) ** 0.5
    return float(np.clip(found, *model.scale_))


@BOTH
def test_the_attributes_are_the_model(model):
    ratings = planted(scale=(10, 50))
    fitted = make(model, n_epochs=15).fit(ratings)
    assert fitted.user_factors_.shape == (60, 4) and fitted.item_factors_.shape == (30, 4)
    assert fitted.user_bias_.shape == (60,) and fitted.item_bias_.shape == (30,)
    if model is LSHMF:
        assert fitted.explicit_influences_.shape == fitted.implicit_influences_.shape == (30, 4)
        assert fitted.explicit_influences_.any() and fitted.implicit_influences_.any()
    pairs = [(0, 3), (59, 29), (7, 7), (31, 2), (12, 18)]
    found = fitted.predict(([fitted.user_ids_[i] for i, _ in pairs], [fitted.item_ids_[j] for _, j in pairs]))
    np.testing.assert_allclose(found, [by_attributes(fitted, ratings, i, j) for i, j in pairs], rtol=2e-5)


@BOTH
def test_attributes_of_a_model_that_is_not_fitted(model):
    assert not hasattr(make(model), "user_factors_") and not hasattr(make(model), "item_bias_")


@BOTH
def test_more_factors_after_fit_do_not_break_predict(model):
    ratings = planted()
    fitted = make(model).fit(ratings)
    before = fitted.predict(ratings)
    for name, value in {"n_factors": 17, "n_neighbors": 9}.items():
        if name in fitted.get_params():
            fitted.set_params(**{name: value})
    vars(fitted).pop("_sessions")
    np.testing.assert_array_equal(fitted.predict(ratings), before)


def ways(ratings):
    """Return {name: (X, y)} of the same ratings; labelled ones in mixed orders."""
    users, items, values = ratings.user_ids[ratings.users], ratings.item_ids[ratings.items], ratings.values
    frame = pandas.DataFrame({"when": 0, "movieId": items, "userId": users}, [f"r{n}" for n in range(len(values))])
    mixed = pandas.Series(values, frame.index).sample(frac=1, random_state=0)
    nullable = pandas.DataFrame({"user": users, "item": items, "rating": values}).convert_dtypes()
    return {
        "array": (np.column_stack([users, items]), values),
        "list": (np.column_stack([users, items]).tolist(), values.tolist()),
        "tuple": ((users, items), values),
        "frame": (frame, mixed),
        "floats": (np.column_stack([users, items]).astype(float), values.astype("float64")),
        "nullable": (nullable[["user", "item"]], nullable["rating"]),
        "on a GPU": (OnDevice(np.column_stack([users, items]), "cupy"), OnDevice(values, "torch")),
        "triples": (nullable, None),
    }


@pytest.mark.parametrize("way", ways(planted()))
def test_ways_to_hand_in_pairs(way, one_thread):
    ratings = planted()
    X, y = ways(ratings)[way]
    expected, found = make(MatrixFactorization).fit(ratings), make(MatrixFactorization).fit(X, y)
    np.testing.assert_array_equal(found.user_ids_, expected.user_ids_)
    np.testing.assert_array_equal(found.user_factors_, expected.user_factors_)
    assert found.score(X, y) == pytest.approx(expected.score(ratings), rel=1e-6)
    assert found.evaluate(X, y)["mae"] == pytest.approx(expected.evaluate(ratings)["mae"], rel=1e-6)


def test_neighbours_of_pairs_are_those_of_the_ratings():
    X, y = ways(planted())["frame"]
    one, other = (SimLSH(3, q=10, device="cpu").fit(*data) for data in ((planted(),), (X, y)))
    np.testing.assert_array_equal(one.neighbors_, other.neighbors_)
    np.testing.assert_array_equal(one.item_ids_, other.item_ids_)


def test_masked_entries_are_not_rated():
    dense = np.random.default_rng(0).integers(1, 6, (20, 8)).astype(float)
    mask = np.random.default_rng(1).random(dense.shape) < 0.3
    masked, plain = (make(MatrixFactorization).prepare(X) for X in (np.ma.array(dense, mask=mask), dense))
    assert len(masked.ratings) == (~mask).sum() and len(plain.ratings) == mask.size


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (np.ones((3, 2)), [1, 2], r"y must hold a rating a pair, 3; its shape is \(2,\)"),
        (np.array([[1, 1], [1, 2]]), [1, np.nan], "is nan, not a finite number"),
        (np.array([[1, 1], [2, 2], [1, 1]]), [1, 2, 3], "User 1 has rated item 1 more than once"),
        (np.array([[1, 1], [1, 2]]), ["good", "bad"], "The ratings are not numbers"),
        (pandas.DataFrame({"user": [1], "item": [2], "rating": [3]}), [4], "'rating'.*y is given too"),
        (pandas.DataFrame({"user": [1], "item": [2]}, ["a"]), pandas.Series([1], ["b"]), "labels .* of y"),
        (([1, 2], [1]), [1, 2], r"the users have shape \(2,\), the items \(1,\)"),
    ],
)
def test_pairs_that_cannot_be(X, y, words):
    with pytest.raises(DataError, match=words):
        make(MatrixFactorization).fit(X, y)
