"""`gpukit explain`: a prediction as the sum of its parts."""

import json

import pytest
from cli_support import NAMED, write_rows

from gpukit.persist import load_model


def shares(out):
    """{part: share} of the table."""
    lines = [line for line in out.splitlines()[2:] if line.startswith("  ")]
    return {line.strip().split("  ")[0]: float(line.split()[-1]) for line in lines}


def test_the_table_adds_up(verb, model_file, tmp_path):
    titles = write_rows(tmp_path / "titles.csv", [("item", "title"), *((f"a{i:02d}", f"Film {i}") for i in range(40))])
    result = verb("explain", model_file, "--user", 103, "--item", "a07", "--by", "rating", "-n", 1, "--titles", titles)
    found = load_model(model_file).explain(103, "a07", by="rating")
    heading, columns, *_ = result.out.splitlines()
    assert heading == f"User 103, item a07 (Film 7): {found.prediction:.4f}"
    assert columns.split() == ["part", "rating", "expected", "weight", "share"]
    parts = shares(result.out)
    assert parts["sum"] == pytest.approx(found.total, abs=1e-4)
    assert sum(parts.values()) - parts["sum"] == pytest.approx(found.total, abs=1e-3)
    first = found.rated[0]
    assert parts[f"rated {first.item} (Film {int(first.item[1:])})"] == pytest.approx(first.share, abs=1e-4)
    assert f"rated others ({len(found.rated) - 1})" in parts and f"(ratings: {found.user_ratings})" in result.out


def test_json_is_the_explanation(verb, model_file):
    result = json.loads(verb("explain", model_file, "--user", 103, "--item", "a07", "--by", "rating", "--json").out)
    found = load_model(model_file).explain(103, "a07", by="rating")
    assert [row["item"] for row in result["rated"]] == [one.item for one in found.rated]
    for name in ("user", "item", "prediction", "total", "mean", "user_bias", "item_bias", "factors", "unrated"):
        assert result[name] == getattr(found, name)
    assert result["clipped"] is found.clipped and result["known_user"] is True


def test_a_cut_off_sum_is_said(verb, model_file, monkeypatch):
    model = load_model(model_file)
    model._scale = model._scale._replace(low=1.0, high=1.5)
    monkeypatch.setattr("gpukit.persist.load_model", lambda path: model)
    out = verb("explain", model_file, "--user", 103, "--item", "a07", "--by", "rating").out
    assert "lies beyond the scale: 1.5 is predicted" in out and out.startswith("User 103, item a07: 1.5000")


def test_what_is_unknown_is_said(verb, model_file):
    result = verb("explain", model_file, "--user", "ann", "--item", "b99")
    assert result.code == 0
    assert "does not know user ann" in result.err and "does not know item b99" in result.err
    found = json.loads(verb("explain", model_file, "--user", 10**30, "--item", "a07", "--json").out)
    assert found["known_user"] is False and found["known_item"] is True and found["user_ratings"] == 0


def test_the_score_that_recommend_shows(verb, model_file, tmp_path):
    model = tmp_path / "m"
    model.write_bytes(model_file.read_bytes())
    row = json.loads(verb("recommend", model, "--user", 103, "--json").out)["recommendations"][0]
    asked = ("explain", model, "--user", 103, "--item", row["item"], "-n", 3)
    heading, columns, *_ = (out := verb(*asked).out).splitlines()
    assert heading == f"User 103, item {row['item']}: {row['score']:.4f}"
    assert columns.split() == ["part", "rating", "weight", "share"]
    parts = shares(out)
    assert parts["sum"] == pytest.approx(row["score"], abs=1e-4)
    assert sum(parts.values()) - parts["sum"] == pytest.approx(row["score"], abs=5e-4)
    found = json.loads(verb(*asked, "--json").out)
    assert found["by"] == "lists" and found["prediction"] == pytest.approx(row["score"], abs=1e-6)
    by_rating = json.loads(verb(*asked, "--by", "rating", "--json").out)
    rating = load_model(model).predict(([103], [row["item"]]))[0]
    assert by_rating["by"] == "rating" and by_rating["prediction"] == pytest.approx(rating, abs=1e-6)


@pytest.mark.slow
def test_what_ranks_lists_is_kept_in_the_model(verb, ratings_file, tmp_path):
    assert verb("train-lshmf", ratings_file, "--model", tmp_path / "m", *NAMED).code == 0
    assert not load_model(tmp_path / "m").has_lists
    result = verb("explain", tmp_path / "m", "--user", 103, "--item", "a07")
    assert "Learned what ranks lists and kept it" in result.err and load_model(tmp_path / "m").has_lists


def test_refusals(refused, model_file, ranking_model, tmp_path):
    assert "--user" in refused("explain", model_file, "--item", "a01")
    assert "--item" in refused("explain", model_file, "--user", 100)
    assert "holds a RankSVM, which is for gpukit rank" in refused(
        "explain", ranking_model, "--user", 100, "--item", "a01"
    )
    assert "no model file" in refused("explain", tmp_path / "none", "--user", 100, "--item", "a01")
