"""`gpukit recommend` with filters of its lists."""

import json
import os

import numpy as np
import pytest
from cli_support import write_rows

from gpukit.factorization import Filters
from gpukit.persist import load_model


def lists(verb, model_file, *options, users=("--user", 103, "--user", 120)):
    found = json.loads(verb("recommend", model_file, *users, "-n", 4, *options, "--json").out)
    return [row["item"] for row in found["recommendations"]]


def expected(model_file, **filters):
    ids, _ = load_model(model_file).recommend([103, 120], 4, filters=Filters(**filters))
    return [item for item in ids.ravel() if item is not None]


def test_items_named_and_in_files(verb, model_file, tmp_path):
    some = [f"a{i:02d}" for i in range(3, 20)]
    file = write_rows(tmp_path / "some.csv", [("item",), *((one,) for one in some)])
    assert lists(verb, model_file, "--only", file) == expected(model_file, only=some)
    assert lists(verb, model_file, "--only", ",".join(some[:9]), "--only", ",".join(some[9:])) == expected(
        model_file, only=some
    )
    assert lists(verb, model_file, "--without", file, "--without", "a00, a01") == expected(
        model_file, without=[*some, "a00", "a01"]
    )


def test_items_through_a_pipe(verb, model_file, tmp_path):
    some = [f"a{i:02d}" for i in range(3, 20)]
    for option, how in (("--only", {"only": some}), ("--without", {"without": some})):
        reading, writing = os.pipe()
        os.write(writing, "".join(f"{one}\n" for one in some).encode())
        os.close(writing)
        assert lists(verb, model_file, option, f"/dev/fd/{reading}") == expected(model_file, **how)
        os.close(reading)


def test_categories(verb, model_file, tmp_path):
    kinds = [(f"a{i:02d}", ("odd" if i % 2 else "even") + ("|small" if i < 12 else "")) for i in range(30)]
    file = write_rows(tmp_path / "kinds.csv", [("item", "genres"), *kinds])
    odd, small = ([item for item, kind in kinds if name in kind] for name in ("odd", "small"))
    named = ("--categories", file, "--only-category", "odd")
    assert lists(verb, model_file, *named) == expected(model_file, only=odd)
    assert lists(verb, model_file, *named, "--only-category", "small") == expected(model_file, only={*odd, *small})
    assert lists(verb, model_file, *named, "--without-category", "small") == expected(
        model_file, only=odd, without=small
    )
    both = sorted({*odd} & {"a01", "a02", "a03", "a05"})
    assert lists(verb, model_file, *named, "--only", "a01,a02,a03,a05") == expected(model_file, only=both)


def test_numbers(verb, model_file):
    counts = load_model(model_file).rating_counts()[1]
    least = int(np.median(counts))
    assert lists(verb, model_file, "--min-support", least) == expected(model_file, min_support=least)
    assert lists(verb, model_file, "--popularity", -2) == expected(model_file, popularity=-2)
    assert lists(verb, model_file, "--diversity", 0.7) == expected(model_file, diversity=0.7)


def test_filters_that_leave_nothing(refused, model_file, tmp_path):
    asked = ("--by", "rating", "--all", "--output", tmp_path / "lists.csv", "--quiet")
    line = refused("recommend", model_file, "--min-support", 10**6, *asked)
    assert not any(tmp_path.iterdir())
    assert "leave none of the model's 40 items" in line and line.endswith("lower --min-support 1000000.")


def test_lists_of_ratings_are_filtered(verb, model_file, tmp_path):
    file = write_rows(tmp_path / "mine.csv", [("a00", 5), ("a01", 1)])
    found = lists(verb, model_file, "--only", "a00,a04,a09", users=("--ratings", file))
    assert sorted(found) == ["a04", "a09"]


def test_what_is_not_known_is_told(verb, model_file, tmp_path):
    kinds = write_rows(tmp_path / "kinds.csv", [("a01", "x"), ("zz", "x"), ("yy", "y")])
    found = verb("recommend", model_file, "--user", 103, "--only", "a01,a02,nope", "--device", "cpu")
    assert found.code == 0 and "The model does not know 1 of 3 items in --only." in found.err
    found = verb("recommend", model_file, "--user", 103, "--categories", kinds, "--without-category", "x")
    assert f"The model does not know 2 of 3 items in {kinds}." in found.err


@pytest.mark.parametrize(
    "options, message",
    [
        (("--only-category", "x"), "need --categories FILE"),
        (("--only", "nope.txt", "--quiet"), "--only nope.txt: there is no such file, and the model knows no"),
        (("--without", "nope,none"), "--without nope,none: there is no such file"),
        (("--without", "a01", "--without", "nope.txt"), "--without nope.txt: there is no such file"),
        (("--only", "a01", "--without", "a01", "--quiet"), "leave none of the model's 40 items"),
        (("--only", "/dev/null"), "/dev/null is empty"),
        (("--without", "./none.csv"), "none.csv does not exist"),
        (("--min-support", 10**6), "leave none"),
        (("--min-support", -1), "--min-support"),
        (("--diversity", 2), "--diversity"),
        (("--popularity", "nan"), "Error: --popularity must be a finite number"),
        (("--categories", "none.csv", "--only-category", "x"), "does not exist"),
    ],
)
def test_refused(refused, model_file, options, message):
    assert message in refused("recommend", model_file, "--user", 103, *options)


def test_a_category_that_is_not_there(refused, model_file, tmp_path):
    kinds = write_rows(tmp_path / "kinds.csv", [("a01", "Drama"), ("a02", "Comedy")])
    line = refused("recommend", model_file, "--user", 103, "--categories", kinds, "--only-category", "drama")
    assert "has no category 'drama', but 2 others, such as Comedy, Drama" in line
    kinds = write_rows(tmp_path / "long.csv", [("a01", "x" * 10_000), ("a02", "Comedy")])
    line = refused("recommend", model_file, "--user", 103, "--categories", kinds, "--only-category", "drama")
    assert line.endswith(f"such as Comedy, {'x' * 40}.")


def test_an_empty_list_is_said(verb, model_file, tmp_path):
    rated = json.loads(verb("recommend", model_file, "--user", 103, "-n", 99, "--json").out)["recommendations"]
    others = sorted({f"a{i:02d}" for i in range(40)} - {row["item"] for row in rated})
    options = ("recommend", model_file, "--user", 103, "--only", ",".join(others))
    said = "Of 1 users, 1 have an empty list: no item is both new to them and may be shown to them."
    for how in ((), ("--json",), ("--output", tmp_path / "o.csv")):
        found = verb(*options, *how)
        assert found.code == 0 and found.err.count(said) == 1
    assert said not in verb(*options, "--quiet").err
    assert "empty list" not in verb("recommend", model_file, "--user", 103, "--user", 120, "-n", 2).err
