"""`gpukit evaluate`: evaluation of ratings and lists, in tables and as JSON."""

import json

import numpy as np
import pytest
from cli_support import CPU, NAMED, planted, write_rows

from gpukit import MatrixFactorization, load_model
from gpukit.evaluation.metrics import rmse


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Files: train.csv, test.csv, two models of the training file."""
    from gpukit.cli.main import run

    folder = tmp_path_factory.mktemp("judged")
    users, items, values = planted()
    last = np.append(users[1:] != users[:-1], True)  # the last rating of each user
    rows = list(zip((users + 100).tolist(), items.tolist(), values.tolist()))
    write_rows(folder / "train.csv", [row for row, held in zip(rows, last) if not held])
    write_rows(folder / "test.csv", [row for row, held in zip(rows, last) if held])
    for name, more in (("one", (*NAMED, "--lists")), ("two", (*NAMED[:4], "--no-neighbors"))):
        command = (
            "train-lshmf",
            folder / "train.csv",
            "--test-fraction",
            0,
            "--model",
            folder / name,
            "--quiet",
            *more,
        )
        assert run([str(one) for one in command]) == 0
    return folder


def test_predicted_ratings(verb, data):
    result = verb("evaluate", data / "one", data / "test.csv", "--json")
    found = json.loads(result.out)
    users, items, truth = np.loadtxt(data / "test.csv", delimiter=",", unpack=True)
    model = load_model(data / "one")
    expected = rmse(truth, model.predict((users.astype(int), items.astype(int))))
    assert found["judged"] == "ratings" and found["ratings"] == len(users)
    assert found["rows"][-1]["test_rmse"] == pytest.approx(expected, abs=1e-5)
    shown = verb("evaluate", data / "one", data / "test.csv")
    assert "damped biases" in shown.out and f"{expected:.4f}" in shown.out and "On cpu" in shown.err


@pytest.mark.filterwarnings("error::UserWarning")
def test_predicted_ratings_of_two_models(verb, data):
    result = verb("evaluate", data / "one", data / "test.csv", "--against", data / "two")
    assert "squared error a user, less" in result.out and "95 % interval" in result.out and "60" in result.out
    assert "Warning" not in result.err and "unknown=" not in result.err


def test_ratings_outside_the_range_of_a_model_are_reported(verb, data, tmp_path):
    test = tmp_path / "scaled.csv"
    rows = [line.split(",") for line in (data / "test.csv").read_text().splitlines()]
    test.write_text("".join(f"{user},{item},{20 * float(rating)}\n" for user, item, rating, *_ in rows))
    line = f"Of {len(rows)} test ratings, {len(rows)} are outside the model's range, 1 to 5."
    assert line in verb("evaluate", data / "one", test).err
    assert line in verb("train-lshmf", data / "train.csv", "--test", test, *NAMED).err
    assert json.loads(verb("evaluate", data / "one", test, "--json").out)["outside_range"] == len(rows)
    assert "outside the model's range" not in verb("evaluate", data / "one", data / "test.csv").err


def test_ratings_that_a_model_was_trained_on_are_reported(verb, data, tmp_path):
    """Errors on them are no errors on new ratings."""
    known = (data / "train.csv").read_text().splitlines()[:50]
    test = tmp_path / "some.csv"
    test.write_text((data / "test.csv").read_text() + "\n".join(known))
    total = len(test.read_text().splitlines())
    line = f"Of {total} test ratings, 50 are of pairs that {{}} was trained on"
    result = verb("evaluate", data / "one", test, "--against", data / "two")
    assert line.format(data / "one") in result.err and line.format(data / "two") in result.err
    assert json.loads(verb("evaluate", data / "one", test, "--json").out)["trained"] == {str(data / "one"): 50}
    assert "was trained on" not in verb("evaluate", data / "one", data / "test.csv").err
    result = verb("train-lshmf", data / "train.csv", "--test", test, *NAMED)
    assert line.format("the model") in result.err
    target = tmp_path / "updated"
    assert verb("update", data / "one", data / "test.csv", "--model", target, "--device", "cpu").code == 0
    assert f"Of {total} test ratings, {total} are of pairs that {target}" in verb("evaluate", target, test).err


def test_lists(verb, data):
    result = verb("evaluate", data / "one", data / "test.csv", "--lists", "-k", 5, "-k", 10, "--json")
    found = json.loads(result.out)
    report = load_model(data / "one").evaluate_lists(clicks(data), (5, 10))
    assert found["judged"] == "lists" and found["lists"]["users"] == len(report.users)
    for k in (5, 10):
        for got, row in zip(found["lists"]["results"][str(k)], report.rows(k)):
            assert {**got, "predictor": ""} == pytest.approx({**row, "predictor": ""})
    assert [row["predictor"] for row in found["lists"]["results"]["5"]][1:] == ["popularity", "item kNN", "EASE"]
    shown = verb("evaluate", data / "one", data / "test.csv", "--lists")
    assert "all items ranked, k = 10" in shown.out and "Best by NDCG@10: " in shown.err and "item kNN" in shown.out


def test_lists_against_those_of_another_model(verb, data):
    """A row for each metric and length: the first model less the other."""
    asked = ("evaluate", data / "one", data / "test.csv", "--lists", "-k", 3, "-k", 5, "--no-baselines", "--json")
    found = json.loads(verb(*asked, "--against", data / "two").out)
    names = [f"{metric}@{k}" for k in (3, 5) for metric in ("HR", "recall", "NDCG")]
    assert [row["metric"] for row in found["differences"]] == names
    ours, other = found["lists"]["results"]["5"]
    assert found["differences"][-1]["mean"] == pytest.approx(ours["ndcg"] - other["ndcg"])


def clicks(data):
    users, items, _ = np.loadtxt(data / "test.csv", delimiter=",", unpack=True)
    return users.astype(int), items.astype(int)


def test_a_model_of_clicks_is_judged_by_lists(verb, data, tmp_path):
    users, items, _ = np.loadtxt(data / "train.csv", delimiter=",", unpack=True, dtype=int)
    named = {"n_factors": 4, "n_epochs": 2, "regularization": 0.01, "unobserved_weight": 0.3, "device": "cpu"}
    model = MatrixFactorization(feedback="implicit", solver="ials", **named)
    model.fit((users, items), np.ones(len(users))).save(tmp_path / "clicks.gpukit")
    result = verb("evaluate", tmp_path / "clicks.gpukit", data / "test.csv", "--no-baselines")
    assert "all items ranked" in result.out and "popularity" not in result.out and "Best" not in result.err


def test_lists_by_predicted_ratings(verb, data):
    found = json.loads(verb("evaluate", data / "one", data / "test.csv", "--lists", "--by", "rating", "--json").out)
    expected = load_model(data / "one").evaluate_lists(clicks(data), baselines=False, by="rating").rows(10)[0]
    got = found["lists"]["results"]["10"][0]
    assert {**got, "predictor": ""} == pytest.approx({**expected, "predictor": ""})


def test_users_whose_clicks_are_given(verb, data, tmp_path):
    """Users with other names and the ratings of the old ones."""
    for name in ("train", "test"):
        lines = (data / f"{name}.csv").read_text().splitlines()
        (tmp_path / f"{name}.csv").write_text("".join(f"9{line}\n" for line in lines))
    asked = ("evaluate", data / "one", tmp_path / "test.csv", "--given", tmp_path / "train.csv", "--lists")
    found, known = json.loads(verb(*asked, "--json").out), verb("evaluate", data / "one", data / "test.csv", "--lists")
    assert found["lists"]["users"] > 20 and found["lists"]["left_out"]["unknown_users"] == 0
    assert f"{found['lists']['users']} users" in known.out
    rows = found["lists"]["results"]["10"]
    assert rows[1]["predictor"] == "popularity" and f"{rows[1]['ndcg']:.4f}" in known.out


def test_only_good_ratings_are_relevant(verb, data):
    found = json.loads(verb("evaluate", data / "one", data / "test.csv", "--lists", "--positive-from", 4, "--json").out)
    good = np.loadtxt(data / "test.csv", delimiter=",")[:, 2] >= 4
    assert found["lists"]["left_out"]["pairs"] == good.sum()


def test_what_is_left_out_is_told(verb, data, tmp_path):
    known = (data / "train.csv").read_text().splitlines()[0]
    rows = [*(data / "test.csv").read_text().splitlines(), known, "7,3,4", "100,999,4"]
    path = tmp_path / "more.csv"
    path.write_text("\n".join(rows) + "\n")
    strange = 1 + int((~np.isin(clicks(data)[1], load_model(data / "one").item_ids_)).sum())
    messages = verb("evaluate", data / "one", path, "--lists").err
    expected = (
        f"1 of users that the model does not know, {strange} of items that it does not know, 1 that it was trained"
    )
    assert expected in messages
    assert f"1 are of users and {strange} of items" in verb("evaluate", data / "one", path).err


def test_usual_lists_are_no_longer_than_all_items(verb, refused, tmp_path):
    for name, users in (("train.csv", 20), ("test.csv", 24)):
        pairs = [(user, item) for user in range(20) for item in range(6) if (user + item) % users % 3]
        (tmp_path / name).write_text("user,item\n" + "".join(f"{user},{item}\n" for user, item in pairs))
    known = verb("train-lshmf", tmp_path / "train.csv", "--model", tmp_path / "model", "--test-fraction", 0, *NAMED)
    assert known.code == 0 and len(load_model(tmp_path / "model").item_ids_) == 6
    assert "k = 6" in verb("evaluate", tmp_path / "model", tmp_path / "test.csv", *CPU).out
    assert "k=10 is no length" in refused("evaluate", tmp_path / "model", tmp_path / "test.csv", "-k", 10)


# --- errors in one line


def test_bad_requests(refused, data, tmp_path):
    one, test = data / "one", data / "test.csv"
    assert "--positive-from is about lists" in refused("evaluate", one, test, "--positive-from", 4)
    assert "--given is about lists" in refused("evaluate", one, test, "--given", test)
    assert "--no-baselines is about lists" in refused("evaluate", one, test, "--no-baselines")
    assert "-k is about lists" in refused("evaluate", one, test, "-k", 5)
    assert "--by is about lists" in refused("evaluate", one, test, "--by", "rating")
    assert "k=41 is no length of a list; the model knows" in refused("evaluate", one, test, "--lists", "-k", 41)
    assert "--positive-from 9 is more than the highest value" in refused(
        "evaluate", one, test, "--lists", "--positive-from", 9
    )
    assert "does not exist" in refused("evaluate", one, tmp_path / "none.csv")
    assert "no model file" in refused("evaluate", one, test, "--against", tmp_path / "none.gpukit")
    assert "is the evaluated model itself: name another" in refused("evaluate", one, test, "--against", one)
    assert "gpukit bench reproduce lsh-mf table10" in refused("evaluate", one, test, "--protocol", "ncf")
    assert "can be judged" in refused("evaluate", one, data / "train.csv", "--lists")


@pytest.mark.parametrize("more", [(), ("--sequential",)])
def test_ratings_are_not_compared_with_clicks(verb, refused, data, tmp_path, more):
    clicks, asked = tmp_path / "clicks", ("evaluate", data / "one", data / "test.csv")
    options = ("--feedback", "implicit", "--test-fraction", 0, "--epochs", 1, "--factors", 2, "--model", clicks)
    assert verb("train-lshmf", data / "train.csv", *options, "--quiet").code == 0
    assert "clicks is a model of clicks without ratings: add --lists" in refused(*asked, "--against", clicks, *more)
    assert verb(*asked, "--against", clicks, "--lists").code == 0


def test_an_empty_test(refused, data, tmp_path):
    (tmp_path / "empty.csv").write_text("")
    assert "is empty" in refused("evaluate", data / "one", tmp_path / "empty.csv")
    assert "is empty" in refused("evaluate", data / "one", tmp_path / "empty.csv", "--lists")


@pytest.mark.parametrize("split", ["users", "user-one"])
def test_a_training_on_clicks_ends_with_lists_of_whom_it_held_out(verb, tmp_path, split):
    users, items, _ = planted()
    path = write_rows(tmp_path / "clicks.csv", zip((users + 100).tolist(), items.tolist()))
    small = ("--solver", "ials", "--factors", 4, "--epochs", 2, "--regularization", 0.01, "--device", "cpu")
    result = verb("train-lshmf", path, "--split", split, *small)
    held = int((np.random.default_rng(0).random(60) < 0.1).sum()) if split == "users" else 60
    assert result.code == 0 and f"lists of 10 out of all items, {held} users" in result.out, result
    assert "popularity" in result.out and "item kNN" in result.out
