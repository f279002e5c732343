"""The final table against plain loops."""

import json

import numpy as np
import pytest
from cli_support import CPU, planted, write_rows
from factorization.inputs import bias_predictor

from gpukit.cli.factorization.table import closing_table, count_unknown
from gpukit.factorization import MatrixFactorization
from gpukit.ratings import Ratings


def fitted(ratings):
    return MatrixFactorization(n_factors=2, n_epochs=1, regularization=0.06, device="cpu").fit(ratings)


@pytest.fixture
def train():
    users, items, values = planted()
    ids = np.arange(100, 160), np.array([f"a{i:02d}" for i in range(40)])
    return Ratings(users.astype(np.int32), items.astype(np.int32), values.astype(np.float32), *ids)


@pytest.fixture
def test():
    """Own ids in another order; user 7 and item new are unknown."""
    ids = np.array([7, 100, 101]), np.array(["a03", "a39", "new"])
    places = np.array([0, 1, 1, 2, 2], np.int32), np.array([0, 0, 2, 1, 2], np.int32)
    return Ratings(*places, np.array([5, 1, 2, 4, 3], np.float32), *ids)


def biased(train, user, item):
    mean, user_bias, item_bias = bias_predictor(train)
    user_bias, item_bias = dict(zip(train.user_ids.tolist(), user_bias)), dict(zip(train.item_ids.tolist(), item_bias))
    return min(max(mean + user_bias.get(user, 0.0) + item_bias.get(item, 0.0), 1.0), 5.0)


def test_the_three_rows(train, test):
    model = fitted(train)
    average, bias, last = closing_table(model, train, test)
    names = ["global mean", "damped biases", "MatrixFactorization"]
    assert [row["predictor"] for row in (average, bias, last)] == names
    assert (last["train_rmse"], last["test_mae"]) == (model.evaluate(train)["rmse"], model.evaluate(test)["mae"])
    for name, ratings in (("train", train), ("test", test)):
        pairs = zip(ratings.user_ids[ratings.users].tolist(), ratings.item_ids[ratings.items].tolist())
        off = np.array([biased(train, *pair) for pair in pairs]) - ratings.values
        assert bias[f"{name}_rmse"] == pytest.approx(np.sqrt(np.mean(off**2)), rel=1e-5)  # biases are float32
        assert bias[f"{name}_mae"] == pytest.approx(np.mean(np.abs(off)), rel=1e-5)
        assert average[f"{name}_mae"] == pytest.approx(np.mean(np.abs(train.values.mean(dtype=float) - ratings.values)))


def test_predictions_stay_on_the_scale(train):
    """Mean and biases together exceed the scale.

    A user and an item have high means.
    """
    users, items = np.nonzero(np.ones((30, 30)))
    loved = (users < 5) | (items < 5)
    ids = np.arange(30), np.arange(30)
    ratings = Ratings(users.astype(np.int32), items.astype(np.int32), np.where(loved, 5, 1).astype(np.float32), *ids)
    best = ratings.take((users < 5) & (items < 5))
    assert closing_table(fitted(ratings), ratings, best)[1]["test_rmse"] == 0.0


def test_without_a_test_set(train):
    assert set(closing_table(fitted(train), train, None)[0]) == {"predictor", "train_rmse", "train_mae"}


def test_unknown_means_without_a_training_rating(train, test):
    assert count_unknown(train, test) == (1, 2)
    assert count_unknown(train.take(train.users != 0), test) == (3, 2)  # user 100 keeps its id and has no rating
    many = test.take(np.tile(np.arange(len(test)), 20_000))  # more than a task of a thread
    assert count_unknown(train, many) == (20_000, 40_000)


def test_ratings_in_sequence(verb, refused, model_file, tmp_path):
    """By time if there are times; the table, the JSON, the comparison of two models, and what is refused."""
    rows = [(900, f"a{i:02d}", 1 + i % 5, 60 - i) for i in range(30)] + [(100, "zz", 4, 5)]
    timed, plain = tmp_path / "timed.csv", tmp_path / "plain.csv"
    timed.write_text("user,item,rating,timestamp\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    write_rows(plain, [row[:3] for row in rows])
    result = verb("evaluate", model_file, timed, "--sequential", *CPU)
    assert "RMSE of biases" in result.out and "no times" not in result.err
    assert "has no times" in verb("evaluate", model_file, plain, "--sequential", *CPU).err
    reports = [
        json.loads(verb("evaluate", model_file, path, "--sequential", "--json", *CPU).out) for path in (timed, plain)
    ]
    backwards = write_rows(tmp_path / "back.csv", [row[:3] for row in rows[29::-1]] + [rows[30][:3]])
    same = json.loads(verb("evaluate", model_file, backwards, "--sequential", "--json", *CPU).out)
    assert reports[0]["rows"] == same["rows"] and reports[0]["rows"] != reports[1]["rows"]
    assert reports[0]["rows"][0]["ratings"] == 31 and reports[0]["judged"] == "ratings in sequence"
    copy = tmp_path / "copy.gpukit"
    copy.write_bytes(model_file.read_bytes())
    against = verb("evaluate", model_file, timed, "--sequential", "--against", copy, "--json", *CPU)
    (difference,) = json.loads(against.out)["differences"]
    assert difference["mean"] == 0 and difference["users"] == 2
    assert "leave it out" in refused("evaluate", model_file, timed, "--sequential", "--lists")


def test_ratings_in_sequence_that_the_model_was_trained_on_are_counted(verb, model_file, ratings_file):
    result = verb("evaluate", model_file, ratings_file, "--sequential", *CPU)
    count = len(ratings_file.read_text().splitlines())
    assert f"Of {count:,} test ratings, {count:,} are of pairs that {model_file} was trained on" in result.err
