"""Clicks through the commands: trained, listed, explained, updated, evaluated, rejected."""

import json

import pytest
from cli_support import CPU
from factorization.implicit.planted import clicks

from gpukit import load_model

QUICK = ("--solver", "ials", "--factors", 8, "--epochs", 5, "--regularization", 0.01, "--unobserved-weight", 0.3, *CPU)


def text(ratings, header="user,item"):
    """Return lines of Ratings as pairs, users named u..."""
    pairs = zip(ratings.user_ids[ratings.users].tolist(), ratings.item_ids[ratings.items].tolist())
    return "\n".join([header, *(f"u{user},{item}" for user, item in pairs)]) + "\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The folder of clicks.csv and later.csv."""
    folder = tmp_path_factory.mktemp("clicks")
    for name, part in zip(("clicks", "later"), clicks()):
        (folder / f"{name}.csv").write_text(text(part))
    return folder


@pytest.fixture
def model(verb, files):
    """A model of the clicks."""
    path = files / "my.gpukit"
    result = verb(
        "train-lshmf", files / "clicks.csv", "--test", files / "later.csv", "--model", path, "--force", *QUICK
    )
    assert result.code == 0, result
    assert "1,320 clicks (implicit feedback), 120 users, 60 items" in result.err
    rows = {line.split()[0]: line.split()[1:] for line in result.out.splitlines() if line.startswith("  ")}
    assert {"LSHMF", "popularity", "item"} <= set(rows) and float(rows["LSHMF"][0]) > 2 * float(rows["popularity"][0])
    assert "unobserved weight 0.3" in result.err and "Best by NDCG@10" in result.err
    return path


def kin(listed):
    """Return True if most first items are in item 0's group."""
    return sum(row["item"] % 4 == 0 for row in listed[:5]) >= 3


def test_every_verb(verb, files, model):
    (files / "pairs.csv").write_text("nobody,0\nnobody,4\n")
    result = verb("predict", model, files / "pairs.csv", *CPU)
    popular = load_model(model).predict((["nobody", "nobody"], [0, 4]), unknown="baseline")
    assert result.code == 0 and 0 < min(popular) < 1e-3  # a ten-thousandth of the popularity, to more than 4 decimals
    assert result.out.splitlines()[1:] == [f"nobody,{at},{score:.6g}" for at, score in zip([0, 4], popular.tolist())]
    assert verb("similar", model, "--item", 4, *CPU).code == 0
    assert verb("similar", model, "--user", "u7", *CPU).code == 0
    result = verb("explain", model, "--user", "u7", "--item", 4)
    assert result.code == 0 and "(clicks: " in result.out
    assert "rated" not in result.out
    assert verb("export", model, files / "out.npz", "--force").code == 0
    judged = verb("evaluate", model, files / "later.csv", "--json", *CPU)
    assert judged.code == 0 and json.loads(judged.out)["judged"] == "lists"
    listed = json.loads(verb("recommend", model, "--user", "u7", "--json", *CPU).out)["recommendations"]
    assert kin(listed)


def test_who_is_not_known_and_what_is_new(verb, files, model):
    (files / "mine.csv").write_text("user,item\nme,0\nme,4\nme,8\nme,4\n")
    result = verb("recommend", model, "--ratings", files / "mine.csv", "--json", *CPU)
    listed = json.loads(result.out)["recommendations"]
    assert kin(listed) and not {row["item"] for row in listed} & {0, 4, 8}
    (files / "items.txt").write_text("0\n4\n8\n")
    alone = json.loads(verb("recommend", model, "--ratings", files / "items.txt", "--json", *CPU).out)[
        "recommendations"
    ]
    assert [row["item"] for row in alone] == [row["item"] for row in listed]
    out = verb("update", model, files / "mine.csv", "--model", files / "new.gpukit", "--force", *CPU)
    assert out.code == 0 and "3 new clicks" in out.out and "1 new users" in out.out
    again = json.loads(verb("recommend", files / "new.gpukit", "--user", "me", "--json", *CPU).out)["recommendations"]
    assert kin(again)


def test_what_comes_after_a_threshold(verb, files, tmp_path):
    """Good ratings are clicks in updates, lists and tests, as in training."""
    rows = [f"{u},{i},{5 if u and (u + i) % 3 else 1}" for u in range(12) for i in range(20) if (u * i) % 4 != 1]
    for name, some in (("rated", rows), ("alike", ["0,3,5"]), ("later", ["1,1,5", "2,1,5", "3,1,1", "5,1,1"])):
        (tmp_path / f"{name}.csv").write_text("user,item,rating\n" + "\n".join(some) + "\n")
    good, model = ("--positive-from", 4, "--test-fraction", 0), ("--model", tmp_path / "m")
    assert verb("train-lshmf", tmp_path / "rated.csv", *good, *model, *QUICK).code == 0
    assert "Nothing was learned of 1 of 12 users" in verb("recommend", tmp_path / "m", "--all", *CPU).err
    result = verb("recommend", tmp_path / "m", "--user", 0, "--user", 1, "-n", 3, *CPU)
    assert result.code == 0 and "Nothing was learned of 1 of 2 users" in result.err
    (tmp_path / "mixed.csv").write_text("user,item,rating\n0,3,5\n0,7,1\n")
    for name in ("alike", "mixed"):
        result = verb("update", tmp_path / "m", tmp_path / f"{name}.csv", "--model", tmp_path / name, *CPU)
        assert result.code == 0 and "1 new clicks" in result.out
    result = verb("evaluate", tmp_path / "m", tmp_path / "later.csv", "--json", *CPU)
    assert json.loads(result.out)["lists"]["left_out"]["pairs"] == 2
    assert "ratings from 4 on are clicks" in verb("evaluate", tmp_path / "m", tmp_path / "later.csv", *CPU).err
    (tmp_path / "mine.csv").write_text("item,rating\n4,5\n5,1\n")
    result = verb("recommend", tmp_path / "m", "--ratings", tmp_path / "mine.csv", "-n", 3, "--json", *CPU)
    assert result.code == 0 and 4 not in [row["item"] for row in json.loads(result.out)["recommendations"]]
    (tmp_path / "two.csv").write_text("user,item,rating\nq,4,5\nr,5,1\n")
    result = verb("recommend", tmp_path / "m", "--ratings", tmp_path / "two.csv", "-n", 3, *CPU)
    assert result.code == 0 and "Without a click: 1 of 2 users; their lists are what is popular" in result.err
    assert [line.split()[0] for line in result.out.splitlines()[1:]] == ["q"] * 3 + ["r"] * 3
    (tmp_path / "low.csv").write_text("item,rating\n5,1\n4,2\n")
    result = verb("recommend", tmp_path / "m", "--ratings", tmp_path / "low.csv", "-n", 20, "--json", *CPU)
    assert result.code == 0 and not {4, 5} & {row["item"] for row in json.loads(result.out)["recommendations"]}
    (tmp_path / "night.csv").write_text("user,item,rating\n1,3,1\n2,2,1\n")
    result = verb("update", tmp_path / "m", tmp_path / "night.csv", "--model", tmp_path / "night", *CPU)
    assert result.code == 0 and "0 new clicks, 2 corrected" in result.out


def test_clicks_are_held_out(verb, files):
    result = verb("train-lshmf", files / "clicks.csv", *QUICK)
    assert result.code == 0 and "of the clicks are held out for testing" in result.err


def test_json(verb, files):
    report = json.loads(verb("train-lshmf", files / "clicks.csv", "--json", *QUICK).out)
    assert report["feedback"] == "implicit" and report["chosen"]["unobserved_weight"] == 0.3
    assert {"popularity", "item kNN", "EASE", "LSHMF"} == {row["predictor"] for row in report["results"]}


def test_ratings_from_a_threshold_on(verb, files):
    rows = [f"{u},{i},{5 - (u + i) % 5}" for u in range(12) for i in range(20) if (u * i) % 3]
    (files / "rated.csv").write_text("user,item,rating\n" + "\n".join(rows) + "\n")
    result = verb("train-lshmf", files / "rated.csv", "--positive-from", 4, *QUICK)
    assert result.code == 0 and "clicks (implicit feedback)" in result.err
    refused = verb("train-lshmf", files / "rated.csv", "--positive-from", 6, *QUICK)
    assert refused.code == 2 and "--positive-from 6 is more than the highest value, 5" in refused.err


@pytest.mark.parametrize(
    "options, what",
    [
        (("--positive-from", 4), "--positive-from 4 asks for ratings"),
        (("--feedback", "explicit", "--loss", "bpr"), "is for clicks"),
        (("--feedback", "explicit"), "--feedback explicit finds nothing to learn. Leave it out, or say which"),
        (("--solver", "sgd"), "learns ratings, and these are clicks"),
        (("--solver", "ials", "--loss", "bpr"), "not by --loss"),
        (("--solver", "ials", "--learning-rate", 0.1), "--learning-rate 0.1 means nothing"),
        (("--plot", "curve.png"), "--plot draws RMSE"),
        (
            (
                "--split",
                "time",
            ),
            "no column of times",
        ),
    ],
)
def test_refusals(verb, files, tmp_path, monkeypatch, options, what):
    monkeypatch.chdir(tmp_path)
    result = verb("train-lshmf", files / "clicks.csv", *options, *CPU)
    assert result.code == 2 and what in result.err and result.err.count("Error") == 1 and not list(tmp_path.iterdir())


def test_tune_is_for_ratings(verb, files):
    result = verb("tune", files / "clicks.csv", *CPU)
    assert result.code == 2 and "pairs without ratings" in result.err
