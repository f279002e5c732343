"""`gpukit recommend`: unrated items that users would rate best."""

import csv
import gzip
import json

import numpy as np
import pytest
from cli_support import planted, write_rows

from gpukit.persist import load_model


def rated_by(user):
    users, items, _ = planted()
    return {f"a{item:02d}" for item in items[users + 100 == user]}


def test_a_table_for_one_user(verb, model_file):
    result = verb("recommend", model_file, "--user", "103", "-n", 4, "--device", "cpu")
    lines = result.out.strip().splitlines()
    assert lines[0].split() == ["user", "rank", "item", "score"] and len(lines) == 5
    assert [line.split()[1] for line in lines[1:]] == ["1", "2", "3", "4"]
    assert "On cpu" in result.err and "recommending" in result.err


def test_they_are_the_best_of_what_is_not_rated(verb, model_file):
    options = ("--user", "103", "-n", 5, "--by", "rating", "--json")
    rows = json.loads(verb("recommend", model_file, *options).out)["recommendations"]
    model, rated = load_model(model_file), rated_by(103)
    left = np.array([item for item in model.item_ids_ if item not in rated])
    predicted = model.predict((np.full(len(left), 103), left))
    best = np.sort(predicted)[::-1][:5]
    assert not rated & {row["item"] for row in rows}
    assert np.clip([row["score"] for row in rows], *model.scale_) == pytest.approx(best, abs=1e-4)


def test_a_user_with_little_left_gets_what_is_left(verb, model_file):
    rows = json.loads(verb("recommend", model_file, "--user", "103", "-n", 1000, "--json").out)["recommendations"]
    assert {row["item"] for row in rows} == set(load_model(model_file).item_ids_) - rated_by(103)


def test_all_users_to_a_file_with_titles(verb, model_file, tmp_path):
    numbered = ((f"a{i:02d}", f'"No. {i}, part 2"') for i in range(1, 30))
    titles = write_rows(tmp_path / "titles.csv", [("item", "title"), ("a00", "Zero"), *numbered])
    out = tmp_path / "all.csv"
    result = verb("recommend", model_file, "--all", "-n", 2, "--titles", titles, "--output", out)
    assert result.code == 0 and result.out == "", result
    rows = list(csv.DictReader(out.open()))
    assert [int(row["user"]) for row in rows] == sorted(list(range(100, 160)) * 2)
    assert {row["rank"] for row in rows} == {"1", "2"}
    for row in rows:
        number = int(row["item"][1:])
        assert row["title"] == ("Zero" if number == 0 else f"No. {number}, part 2" if number < 30 else "")
        assert row["item"] not in rated_by(int(row["user"]))


def test_several_users_in_the_order_asked(verb, model_file):
    result = json.loads(verb("recommend", model_file, "--user", "120", "--user", "101", "-n", 1, "--json").out)
    assert [row["user"] for row in result["recommendations"]] == [120, 101] and result["device"].startswith("cpu")


def test_all_without_a_file_is_csv_on_stdout(verb, model_file):
    result = verb("recommend", model_file, "--all", "-n", 1, "--quiet")
    assert result.out.startswith("user,rank,item,score\n100,1,a") and result.out.count("\n") == 61 and result.err == ""


def test_refusals(refused, model_file, tmp_path):
    line = refused("recommend", model_file, "--user", 999)
    assert "user 999 is not in the model, which knows 60 users; the nearest id is 159" in line
    assert "integers" in refused("recommend", model_file, "--user", "ann")
    assert "--all" in refused("recommend", model_file)
    assert "Give the users by one of" in refused("recommend", model_file, "--all", "--user", 100)
    for option, value in (("--sep", ";"), ("--format", "csv"), ("--duplicates", "mean"), ("--columns", "item,rating")):
        assert "describe the file of --ratings" in refused("recommend", model_file, "--all", option, value)
    assert "--categories needs --only-category" in refused("recommend", model_file, "--all", "--categories", "c.csv")
    assert "does not exist" in refused("recommend", model_file, "--all", "--output", tmp_path / "no" / "out.csv")
    assert "-n" in refused("recommend", model_file, "--user", 100, "-n", 0)
    assert "does not exist" in refused("recommend", model_file, "--user", 100, "--titles", tmp_path / "none.csv")
    assert "--json" in refused("recommend", model_file, "--all", "--json", "--output", tmp_path / "out.csv")


# --- for unknown users


def test_for_a_list_of_ratings(verb, model_file, tmp_path):
    plain = write_rows(tmp_path / "plain.csv", [("a00", 5), ("a01", 4.5), ("a02", 1)])
    headed = write_rows(tmp_path / "headed.csv", [("item", "rating"), ("a00", 5), ("a01", 4.5), ("a02", 1)])
    headed.write_text("\n" + headed.read_text().replace("a01", "\na01") + "\n \n")  # blank lines are no ratings
    rows = json.loads(verb("recommend", model_file, "--ratings", plain, "-n", 4, "--json").out)["recommendations"]
    model = load_model(model_file)
    _, items, scores = model.recommend_for({"a00": 5, "a01": 4.5, "a02": 1}, n=4)
    assert [row["item"] for row in rows] == items[0].tolist() and {row["user"] for row in rows} == {"new"}
    assert [row["score"] for row in rows] == pytest.approx(scores[0].tolist())
    assert (
        verb("recommend", model_file, "--ratings", headed, "-n", 4, "--json").out.split('"device"')[0]
        == (verb("recommend", model_file, "--ratings", plain, "-n", 4, "--json").out.split('"device"')[0])
    )


def test_for_several_lists(verb, model_file, tmp_path):
    mine = write_rows(tmp_path / "m.csv", [("x", "a00", 5), ("y", "a01", 4), ("x", "a77", 1), ("y", "a77", 2)])
    result = verb("recommend", model_file, "--ratings", mine, "-n", 2, "--output", tmp_path / "o.csv")
    rows = list(csv.DictReader((tmp_path / "o.csv").open()))
    assert [row["user"] for row in rows] == ["x", "x", "y", "y"]
    assert "The model does not know the items of 2 of 4 ratings" in result.err


@pytest.mark.parametrize(
    "rows, line",
    [
        ([("a00", "good"), ("a01", "bad")], "line 2: the rating 'bad' is not a number"),
        ([], "is empty"),
        ([("user", "item"), ("x", "a00"), ("x", "a01")], "has users and items without ratings"),
        ([("user", "item", "plays"), ("x", "a00", 3), ("x", "a01", 4)], "pairs without ratings, and the model is of"),
    ],
)
def test_lists_that_will_not_do(refused, model_file, tmp_path, rows, line):
    assert line in refused("recommend", model_file, "--ratings", write_rows(tmp_path / "bad.csv", rows))


def test_for_whom_is_said_once(refused, model_file, ratings_file):
    assert "Give the users by one of" in refused("recommend", model_file, "--ratings", ratings_file, "--all")


def test_a_heading_above_items_that_are_numbers(tmp_path):
    from gpukit.cli.factorization.listing import read_lists

    for heading in ("item,rating", "film,stars", "itemId,rating"):
        file = write_rows(tmp_path / "mine.csv", [heading.split(","), (1, 4), (2, 3.5)])
        found = read_lists(file, "auto", None, "last", None)
        assert found.item_ids.tolist() == [1, 2] and found.values.tolist() == [4.0, 3.5]


@pytest.mark.parametrize("heading", ["item", '"movieId"', "\n\ufeffitem"])
def test_a_heading_above_clicks_is_not_a_click(tmp_path, heading):
    from gpukit.cli.factorization.listing import read_lists

    file = tmp_path / "mine.csv"
    file.write_text(f"{heading}\n1\n2\n")
    assert read_lists(file, "auto", None, "last", None, of_clicks=True).item_ids.tolist() == [1, 2]


LISTS = {  # text of one user's list: (items, ratings)
    "a separator in a quoted item": ('"a, b",5\nc,3\n', ["a, b", "c"], [5, 3]),
    "line ends of Unicode in items": ("a\fb,5\nc\x85d,3\ne\u2028f,2\n", ["a\fb", "c\x85d", "e\u2028f"], [5, 3, 2]),
    "a line end in a quoted item": ('"a\nb",5\nc,3\n', ["a\nb", "c"], [5, 3]),
    "another order": ("rating,item\n5,c\n2,d\n", ["c", "d"], [5, 2]),
    "further columns": ("item,x,stars,timestamp\nc,9,5,8\nc,9,4,7\nd,9,2,6\n", ["c", "d"], [5, 2]),
    "empty fields at the end": ("c,5\nd,3\n\n,\n", ["c", "d"], [5, 3]),
}


@pytest.mark.parametrize("case", LISTS)
def test_a_list_of_one_user_is_read_as_csv(tmp_path, case):
    from gpukit.cli.factorization.listing import read_lists

    text, items, values = LISTS[case]
    for name, pack in (("mine.csv", bytes), ("mine.csv.gz", gzip.compress)):
        (tmp_path / name).write_bytes(pack(text.encode()))
        found = read_lists(tmp_path / name, "auto", None, "last", None)
        assert found.user_ids.tolist() == ["new"] and found.item_ids.tolist() == items
        assert found.values.tolist() == values


def test_columns_of_a_list_of_one_user_are_named(tmp_path):
    from gpukit.cli.factorization.listing import read_lists

    file = tmp_path / "mine.csv"
    file.write_text("7,c,5\n8,d,3\n")
    found = read_lists(file, "auto", "-,item,rating", "last", None)
    assert found.item_ids.tolist() == ["c", "d"] and found.values.tolist() == [5, 3]
    file.write_text('"a, b"\nc\n')
    assert read_lists(file, "auto", None, "last", None, of_clicks=True).item_ids.tolist() == ["a, b", "c"]


@pytest.mark.parametrize("text", ["a01,5\na02,50\n", "item,rating\na01,50\n", "u,a01,5\nu,a02,50\n", "u,a01,-1\n"])
def test_ratings_outside_the_scale_are_refused(refused, model_file, tmp_path, text):
    path = tmp_path / "mine.csv"
    path.write_text(text)
    value = -1 if "-1" in text else 50
    line = text.count("\n")
    message = refused("recommend", model_file, "--ratings", path, "--by", "rating", "--device", "cpu")
    assert f"{path}, line {line}: rating {value} is outside the model's range, 1 to 5" in message


def test_a_long_list_of_ids_is_no_file_name():
    from gpukit.cli.factorization.listing import is_file

    assert not is_file(",".join(map(str, range(200))))


def test_small_models_answer_on_the_cpu(model_file, monkeypatch):
    """A GPU takes longer to start; a named device and ranks, which share the work, are as asked."""
    from gpukit.cli import models

    assert models.place_of(model_file, "auto") == "cpu"
    assert models.place_of(model_file, "cuda") == "cuda"
    monkeypatch.setenv("GPUKIT_RANKS", "2")
    monkeypatch.setenv("GPUKIT_RANK", "1")
    assert models.place_of(model_file, "auto") == "auto"
    monkeypatch.delenv("GPUKIT_RANKS")
    model = load_model(model_file)
    products = len(model.user_ids_) * len(model.item_ids_) * model.n_factors
    monkeypatch.setattr(models, "get_num_threads", lambda: 2)
    monkeypatch.setattr(models, "PRODUCTS", products / 2)
    assert models.place_of(model_file, "auto") == "auto"
    monkeypatch.setattr(models, "PRODUCTS", products / 2 + 1)
    assert models.place_of(model_file, "auto") == "cpu"
