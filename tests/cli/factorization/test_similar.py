"""`gpukit similar`: the items most similar to one."""

import json

import numpy as np
import pytest
from cli_support import NAMED, write_rows

from gpukit.persist import load_model


def test_a_table_with_titles(verb, model_file, tmp_path):
    titles = write_rows(tmp_path / "titles.csv", [("item", "title"), *((f"a{i:02d}", f"Film {i}") for i in range(40))])
    result = verb("similar", model_file, "--item", "a07", "-n", 3, "--titles", titles, "--device", "cpu")
    heading, columns, *rows = result.out.strip().splitlines()
    assert heading == "Items most like a07 (Film 7)" and columns.split() == [
        "rank",
        "item",
        "score",
        "common",
        "ratings",
        "title",
    ]
    assert len(rows) == 3 and all(f"Film {int(row.split()[1][1:])}" in row for row in rows)
    assert "On cpu" in result.err and "searching" in result.err


def test_json_equals_the_estimator(verb, model_file):
    result = json.loads(verb("similar", model_file, "--item", "a07", "-n", 4, "--json").out)
    found = load_model(model_file).similar_items("a07", 4, with_evidence=True)
    assert "a07" not in found[0] and np.all(np.diff(found[1]) <= 0)
    for name, column in zip(("item", "score", "common", "ratings"), found):
        assert [row[name] for row in result["similar"]] == pytest.approx(column.tolist())


def test_users(verb, model_file):
    result = json.loads(verb("similar", model_file, "--user", 104, "-n", 4, "--json").out)
    found = load_model(model_file).similar_users(104, 4, with_evidence=True)
    assert result["user"] == 104 and "title" not in result
    for name, column in zip(("user", "score", "common", "ratings"), found):
        assert [row[name] for row in result["similar"]] == pytest.approx(column.tolist())
    heading, columns, *rows = verb("similar", model_file, "--user", 104, "-n", 3).out.strip().splitlines()
    assert heading == "Users most like 104" and columns.split() == ["rank", "user", "score", "common", "ratings"]
    assert len(rows) == 3


def test_by_factors_alone(verb, model_file):
    result = json.loads(verb("similar", model_file, "--item", "a07", "--by", "factors", "--json").out)
    ids, scores = load_model(model_file).similar_items("a07", 10, by="factors")
    assert [row["item"] for row in result["similar"]] == ids.tolist() and result["by"] == "factors"


def test_nothing_is_alike(verb, tmp_path):
    """Items 1 and 2 have one rater each, without other ratings."""
    rows = [*((user, item, 1 + user % 5) for user in range(9) for item in range(10, 16)), (50, 1, 4), (51, 2, 3)]
    made = verb(
        "train-lshmf",
        write_rows(tmp_path / "r.csv", rows),
        *("--test-fraction", 0, "--model", tmp_path / "m", *NAMED, "--neighbors", 0),
    )
    assert made.code == 0, made
    result = verb("similar", tmp_path / "m", "--item", 1)
    assert result.code == 0 and result.out == "" and "Nothing is known to be like item 1" in result.err
    result = verb("similar", tmp_path / "m", "--user", 50, "--json")
    assert json.loads(result.out)["similar"] == []


def test_a_model_without_neighbours_has_similar_items_too(verb, ratings_file, tmp_path):
    assert verb("train-lshmf", ratings_file, "--model", tmp_path / "m", *NAMED, "--neighbors", 0).code == 0
    assert len(json.loads(verb("similar", tmp_path / "m", "--item", "a07", "-n", 4, "--json").out)["similar"]) == 4


def test_refusals(refused, model_file):
    line = refused("similar", model_file, "--item", "b99")
    assert "item b99 is not in the model, which knows 40 items; the nearest id is a39" in line
    assert "user 999 is not in the model" in refused("similar", model_file, "--user", 999)
    assert "--item ID or --user ID" in refused("similar", model_file)
    assert "not both" in refused("similar", model_file, "--item", "a01", "--user", 101)
    assert "--titles" in refused("similar", model_file, "--user", 101, "--titles", "t.csv")
    assert "--by" in refused("similar", model_file, "--item", "a01", "--by", "taste")
    assert "-n" in refused("similar", model_file, "--item", "a01", "-n", 0)
