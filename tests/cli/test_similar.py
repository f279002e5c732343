"""`gpukit similar`: the items most like one."""

import json

import numpy as np
import pytest
from cli_support import SMALL, write_rows

from gpukit.persist import load_model


def test_a_table_with_titles(verb, model_file, tmp_path):
    titles = write_rows(tmp_path / "titles.csv", [("item", "title"), *((f"a{i:02d}", f"Film {i}") for i in range(40))])
    result = verb("similar", model_file, "--item", "a07", "-n", 3, "--titles", titles, "--device", "cpu")
    heading, columns, *rows = result.out.strip().splitlines()
    assert heading == "Items most like a07 (Film 7)" and columns.split() == ["rank", "item", "score", "title"]
    assert len(rows) == 3 and all(f"Film {int(row.split()[1][1:])}" in row for row in rows)
    assert "On cpu" in result.err and "searching" in result.err


def test_json_equals_the_estimator(verb, model_file):
    result = json.loads(verb("similar", model_file, "--item", "a07", "-n", 4, "--json").out)
    ids, scores = load_model(model_file).similar_items("a07", 4)
    assert [row["item"] for row in result["similar"]] == ids.tolist() and "a07" not in ids
    assert [row["score"] for row in result["similar"]] == pytest.approx(scores.tolist())
    assert np.all(np.diff(scores) <= 0)


def test_a_model_without_neighbours_has_similar_items_too(verb, ratings_file, tmp_path):
    assert verb("train-lshmf", ratings_file, "--no-neighbors", "--model", tmp_path / "m", *SMALL).code == 0
    assert len(json.loads(verb("similar", tmp_path / "m", "--item", "a07", "-n", 4, "--json").out)["similar"]) == 4


def test_refusals(refused, model_file):
    line = refused("similar", model_file, "--item", "b99")
    assert "item b99 is not in the model, which knows 40 items; the nearest id is a39" in line
    assert "--item" in refused("similar", model_file)
    assert "-n" in refused("similar", model_file, "--item", "a01", "-n", 0)
