"""`gpukit update`: a model and new ratings in, an updated model out."""

import json

import pytest
from cli_support import CPU, write_rows
from factorization.inputs import same_state

from gpukit.cli.factorization import update
from gpukit.persist import load_model
from gpukit.ratings import read_ratings, write_ratings


@pytest.fixture
def new(tmp_path):
    """Known pairs, new users and a new item."""
    rows = [(100, f"a{i:02d}", 1 + i % 5) for i in range(6)] + [(900, f"a{i:02d}", 5) for i in range(12)]
    return write_rows(tmp_path / "new.csv", [*rows, (901, "a03", 2), (101, "zz", 4), (102, "zz", 5)])


def test_a_new_model(verb, model_file, new, tmp_path):
    out = tmp_path / "out.gpukit"
    result = verb("update", model_file, new, "--model", out, *CPU)
    assert result.code == 0 and "2 new users, 1 new items" in result.out and f"Model saved in {out}" in result.err
    old, model = load_model(model_file), load_model(out)
    assert model.user_ids_.tolist() == [*old.user_ids_.tolist(), 900, 901]
    assert model.item_ids_.tolist() == [*old.item_ids_.tolist(), "zz"]
    listed = json.loads(verb("recommend", out, "--user", 900, "--json", *CPU).out)["recommendations"]
    assert listed and not {row["item"] for row in listed} & {f"a{i:02d}" for i in range(12)}
    assert verb("similar", out, "--item", "zz", *CPU).code == 0
    assert verb("predict", out, new, *CPU).code == 0


def test_as_json(verb, model_file, new, tmp_path):
    out = tmp_path / "out.gpukit"
    result = verb("update", model_file, new, "--model", out, "--rows", "frozen", "--json", *CPU)
    report = json.loads(result.out)
    assert (report["command"], report["rows"], report["users"], report["items"]) == ("update", "frozen", 2, 1)
    assert (report["ratings"], report["corrected"], report["unchanged"]) == (18, 1, 2) and report["model"] == str(out)
    assert {"seconds", "device", "total_users", "total_items"} <= set(report)


def test_a_test_is_for_evaluate(refused, model_file, new, ratings_file, tmp_path):
    line = refused("update", model_file, new, "--model", tmp_path / "out.gpukit", "--test", ratings_file)
    assert "--test" in line and "gpukit evaluate NEW TEST --against OLD" in line


def test_a_model_is_replaced_with_force_alone(verb, refused, model_file, new, tmp_path):
    own = tmp_path / "own.gpukit"
    own.write_bytes(model_file.read_bytes())
    assert f"--model {own} --force to replace" in refused("update", own, new)
    assert "is there already and is kept" in refused("update", own, new, "--model", own)
    assert own.read_bytes() == model_file.read_bytes()
    assert verb("update", own, new, "--model", own, "--force", *CPU).code == 0
    assert len(load_model(own).user_ids_) == len(load_model(model_file).user_ids_) + 2


def test_a_model_that_was_replaced_meanwhile_stays(refused, model_file, new, tmp_path, monkeypatch):
    own = tmp_path / "own.gpukit"
    own.write_bytes(model_file.read_bytes())
    learn = update.learn
    monkeypatch.setattr(update, "learn", lambda *arguments: (own.write_bytes(b"other"), learn(*arguments))[1])
    assert "was replaced by another process meanwhile" in refused("update", own, new, "--model", own, "--force", *CPU)
    assert own.read_bytes() == b"other"


def test_new_ratings_are_not_overwritten(refused, model_file, new, tmp_path):
    line = refused("update", model_file, new, "--model", new, "--force")
    assert "would overwrite a file that this command reads" in line


@pytest.mark.parametrize(
    "rows, line",
    [
        ([(100, "a00", "good")], "line 1"),
        ([("bob", "a00", 3), ("bob", "a01", 4)], "new user 'bob' is text, and the model's 60 user ids are whole"),
        ([], "is empty"),
    ],
)
def test_new_ratings_that_will_not_do(refused, model_file, tmp_path, rows, line):
    bad, out = write_rows(tmp_path / "bad.csv", rows), tmp_path / "out.gpukit"
    assert line in refused("update", model_file, bad, "--model", out)
    assert not out.exists()


def test_a_known_pair_by_rule(refused, verb, model_file, new, tmp_path):
    out = tmp_path / "out.gpukit"
    assert "already" in refused("update", model_file, new, "--model", out, "--duplicates", "error", *CPU)
    assert not out.exists()
    assert verb("update", model_file, new, "--model", out, "--duplicates", "mean", *CPU).code == 0


@pytest.mark.slow
def test_a_model_of_another_kind(refused, ranking_model, new, tmp_path):
    assert "holds a RankSVM" in refused("update", ranking_model, new, "--model", tmp_path / "o")


def test_twice_as_many_ratings_are_trained_on_anew(verb, model_file, tmp_path):
    out, known = tmp_path / "out.gpukit", len(load_model(model_file)._rated.items)
    new = write_rows(tmp_path / "many.csv", [(5000 + t // 20, f"a{t % 20:02d}", 1 + t % 5) for t in range(known)])
    result = verb("update", model_file, new, "--model", out, *CPU)
    assert result.code == 0 and "; trained again on all " in result.out and "Settings: " in result.err
    assert load_model(out).updates_[-1]["settled"] == 2 * known


def test_a_night_without_ratings(verb, model_file, tmp_path):
    """Only a header: the model is written unchanged, with or without --json."""
    night, out = write_rows(tmp_path / "night.csv", [("user", "item", "rating")]), tmp_path / "out.gpukit"
    result = verb("update", model_file, night, "--model", out, *CPU)
    assert result.code == 0 and result.out.startswith("0 new ratings, 0 corrected; 0 new users, 0 new items; 0 ratings")
    assert "holds a header and nothing else: no ratings. The model stays as it is." in result.err
    assert same_state(load_model(model_file), load_model(out)) and not hasattr(load_model(out), "updates_")
    report = json.loads(verb("update", model_file, night, "--model", out, "--force", "--json", *CPU).out)
    assert report["ratings"] == report["walked"] == 0 and report["settled"] == len(load_model(out)._rated.items)
    assert report["total_users"] == len(load_model(out).user_ids_)


def test_ratings_of_another_scale(verb, refused, model_file, tmp_path):
    rows = [(100 + k, f"a{k:02d}", 20 * (1 + k % 5)) for k in range(12)]
    bad, out = write_rows(tmp_path / "bad.csv", rows), tmp_path / "out.gpukit"
    line = refused("update", model_file, bad, "--model", out)
    assert f"{bad}, line 1: rating 20 is outside the model's range, 1 to 5" in line and not out.exists()
    line = refused("recommend", model_file, "--ratings", bad, "--by", "rating")
    assert f"{bad}, line 1: rating 20 is outside the model's range, 1 to 5" in line


def test_a_night_told_twice(verb, model_file, new, tmp_path):
    once, twice = tmp_path / "once.gpukit", tmp_path / "twice.gpukit"
    assert ", 2 known as they are" in verb("update", model_file, new, "--model", once, "--rows", "frozen", *CPU).out
    result = verb("update", once, new, "--model", twice, *CPU)
    assert result.code == 0 and result.out.startswith("0 new ratings, 0 corrected, 21 known as they are; 0 new users")
    assert same_state(load_model(once), load_model(twice)) and len(load_model(twice).updates_) == 2


@pytest.mark.parametrize("suffix", [".csv", ".gkr"])
def test_a_rating_outside_the_scale(verb, refused, model_file, tmp_path, suffix):
    rows = [("user", "item", "rating"), (100, "a00", 4), (101, "a01", 50), (102, "a02", -3)]
    bad, out = write_rows(tmp_path / "bad.csv", rows), tmp_path / "out.gpukit"
    where = f"{bad}, line 3"
    if suffix == ".gkr":
        write_ratings(read_ratings(bad), tmp_path / "bad.gkr")
        bad, where = tmp_path / "bad.gkr", f"{tmp_path / 'bad.gkr'}, row 2"
    line = refused("update", model_file, bad, "--model", out)
    assert f"{where}: rating 50 is outside the model's range, 1 to 5" in line and "--widen-scale" in line
    assert not out.exists()
    assert verb("update", model_file, bad, "--model", out, "--widen-scale", *CPU).code == 0
    assert load_model(out).scale_ == (-3, 50)
