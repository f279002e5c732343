"""Unusual tables of ratings through `train-lshmf` and `tune`: messages are true."""

import json
import warnings

import numpy as np
import pytest
from cli_support import CPU, NAMED

from gpukit.factorization import MatrixFactorization

FEW = (*NAMED, "--epochs", 2)


@pytest.fixture
def table(tmp_path):
    """Return a function that writes (user, item, rating) rows and returns the path."""

    def written(rows):
        path = tmp_path / "ratings.csv"
        path.write_text("user,item,rating\n" + "".join(f"{u},{i},{r}\n" for u, i, r in rows))
        return path

    return written


def square(rating, users=12, items=10):
    """Return a full table; rating(user, item, number): the rating of a pair."""
    return [(f"u{k % users}", f"i{k // users}", rating(k % users, k // users, k)) for k in range(users * items)]


@pytest.mark.parametrize("rows", [[("a", f"i{k}", 1 + k % 5) for k in range(40)], [("a", "x", 3)]], ids=["user", "one"])
def test_one_user_is_too_few(refused, table, rows):
    assert "Learning from 1 user(s) and" in refused("train-lshmf", table(rows), "--test-fraction", 0, "--quiet", *CPU)
    assert "give at least two of each" in refused("tune", table(rows), "--quiet", *CPU)


def test_one_item_is_too_few(refused, table):
    rows = [(f"u{k}", "x", 1 + k % 5) for k in range(40)]
    assert "Learning from 40 user(s) and 1 item(s) is not possible" in refused(
        "train-lshmf", table(rows), "--quiet", *CPU
    )


def test_equal_ratings_are_clicks_and_why_is_told(verb, table):
    path = table(square(lambda *_: 4)[:60])
    result = verb("train-lshmf", path, *FEW)
    assert result.code == 0 and "(every rating is 4; --feedback explicit takes them as ratings)" in result.err
    assert "every rating" not in verb("train-lshmf", path, "--feedback", "implicit", *FEW).err
    named = verb("train-lshmf", path, "--feedback", "explicit", *CPU)
    assert named.code == 0 and "60 ratings from 4 to 4" in named.err
    assert [line.split()[-2:] for line in named.out.splitlines() if "LSHMF:" in line] == [["0.0000", "0.0000"]]
    assert "every rating" not in verb("train-lshmf", table(square(lambda *_: 1)[:60]), *FEW).err


def test_of_equal_ratings_nothing_is_tuned(refused, table):
    assert "All 120 ratings are 4: every setting predicts" in refused(
        "tune", table(square(lambda *_: 4)), "--quiet", *CPU
    )


def test_nobody_is_best_where_nobody_has_a_hit(verb, table):
    rng = np.random.default_rng(0)
    rows = dict.fromkeys((f"u{rng.integers(30)}", f"i{k}") for k in range(200))
    result = verb("train-lshmf", table([(*pair, 1) for pair in rows]), *FEW)
    assert result.code == 0 and "says nothing of who is best" in result.err and "Best by" not in result.err


def test_ids_with_spaces_can_be_pasted(verb, table, tmp_path):
    rows = [(f"user {u[1:]}", i, r) for u, i, r in square(lambda u, i, k: 1 + k % 5)]
    result = verb("train-lshmf", table(rows), "--model", tmp_path / "my model", *FEW)
    assert f"gpukit recommend '{tmp_path / 'my model'}' --user 'user 0'" in result.err


@pytest.mark.slow
def test_a_model_that_a_simpler_row_beats_says_so(verb, table):
    noise = np.random.default_rng(0).integers(1, 6, 120)
    path = table(square(lambda u, i, k: noise[k]))
    named = ("--factors", 8, "--epochs", 40, "--learning-rate", 0.5, *CPU)
    worse = verb("train-lshmf", path, "--regularization", 0, *named)
    assert "has a lower error than the model" in worse.err
    taste = table(square(lambda u, i, k: 1 + 4 * ((u + i) % 2)))
    better = verb("train-lshmf", taste, *named)
    assert better.code == 0 and "has a lower error" not in better.err


TIMES = "(these look like times: --columns user,item,timestamp takes the pairs as clicks)"


@pytest.mark.slow
@pytest.mark.parametrize(
    "values, said",
    [
        ((0, 1), "(0 and 1 alone: if 1 is a click, --positive-from 1 learns lists)"),
        ((-1, 1), "(-1 and 1 alone: if 1 is a click, --positive-from 1 learns lists)"),
        ((1_500_000_000, 1_600_000_000), TIMES),
        ((1_500_000_000_000, 1_600_000_000_000), TIMES),
        ((0, 0.5, 1), ""),
        ((0, 1_600_000_000), ""),
    ],
)
def test_numbers_that_may_be_no_ratings_are_told(verb, table, values, said):
    path = table(square(lambda user, item, _: values[(user + item) % len(values)]))
    result = verb("train-lshmf", path, *FEW)
    assert result.code == 0 and said in result.err
    assert ("alone" in result.err or "look like" in result.err) == bool(said)
    named = verb("train-lshmf", path, "--feedback", "explicit", *FEW)
    assert "alone" not in named.err and "look like" not in named.err


def test_a_warning_names_a_code_of_missing_ratings(verb, table):
    path = table(square(lambda user, item, k: (-1, 3, 4, 5, 6)[k % 5]))
    warning = "% of the ratings are -1, unlike the others, and are learned as ratings."
    assert warning in verb("train-lshmf", path, *FEW).err and warning in verb("tune", path, "--budget", "1", *CPU).err
    assert "unlike" not in verb("train-lshmf", path, "--feedback", "explicit", *FEW).err


def numbered(start, step=1):
    """Return triples of 300 ratings of as many users, whose ids are start, start + step, ..."""
    items = np.random.default_rng(1).integers(0, 30, 300)
    return [(start + step * at, int(item), 1 + at % 5) for at, item in enumerate(items)]


@pytest.mark.parametrize("start, step, is_told", [(0, 1, True), (1, 1, True), (0, 2, False), (7, 1, False)])
def test_users_that_number_the_lines_are_told(start, step, is_told, verb, tmp_path):
    triples, path = numbered(start, step), tmp_path / "r.csv"
    path.write_text("".join(f"{user},{item},{value}\n" for user, item, value in triples))
    result = verb("train-lshmf", path, *FEW)
    assert result.code == 0 and ("--columns -,user,item,rating leaves" in result.err) == is_told
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = MatrixFactorization(n_factors=2, n_epochs=1, regularization=0.05, device="cpu")
        model.fit(tuple(map(np.array, zip(*triples))))
    assert any("the numbers of the lines" in str(one.message) for one in caught) == is_told


@pytest.mark.parametrize("share", [0.5, 0.999])
def test_ratings_remain_ratings_where_those_held_out_differ(verb, table, share):
    held = np.random.default_rng(0).random(1200) < share
    rows = square(lambda user, item, k: 1 + k % 5 if held[k] else 4, 40, 30)
    result = verb("train-lshmf", table(rows), "--test-fraction", share, *CPU)
    assert result.code == 0 and f"{1200 - held.sum():,} ratings" in result.out and "test RMSE" in result.out, result


@pytest.mark.parametrize("more", [("train-lshmf", "--early-stop", 2), ("train-lshmf",)], ids=["stop", "plain"])
def test_clicks_are_no_test_of_ratings(verb, table, tmp_path, more):
    rated = table(square(lambda user, item, k: 1 + k % 5))
    clicks = tmp_path / "clicks.csv"
    clicks.write_text("user,item\nu1,i1\nu2,i3\n")
    result = verb(*more, rated, "--test", clicks, "--quiet", *CPU)
    assert result.code == 2 and result.out == "" and "tested on holds 2 pairs without ratings" in result.err
    for taken in (("--feedback", "implicit"), ("--positive-from", 4)):
        result = verb("train-lshmf", rated, "--test", clicks, *taken, "--epochs", 2, *CPU)
        assert result.code == 0 and " clicks" in result.out, result


@pytest.mark.slow
@pytest.mark.parametrize("command", ["train-lshmf", "tune"])
def test_counts_learned_as_ratings_get_one_remark(verb, table, command):
    counts = np.minimum(np.random.default_rng(0).zipf(1.5, 400), 324_660)
    path, line = table(square(lambda u, i, k: counts[k], 20, 20)), "look like counts"
    result = verb(command, path, *(FEW if command == "train-lshmf" else ("--epochs", 2, "--cv", 2, *CPU)))
    assert result.code == 0 and result.err.count(line) == 1
    assert "use --feedback implicit, or read them with --columns user,item,count." in result.err
    if command == "train-lshmf":
        assert line not in verb(command, path, "--feedback", "explicit", *FEW).err
        assert line not in verb(command, path, "--feedback", "implicit", *FEW).err
        (warning,) = [text for text in json.loads(verb(command, path, "--json", *FEW).out)["warnings"] if line in text]
        assert "--feedback implicit" in warning


@pytest.mark.slow
def test_fit_warns_of_counts():
    counts = np.minimum(np.random.default_rng(0).zipf(1.5, 400), 324_660).astype(np.float32)
    data = np.repeat(np.arange(20), 20), np.tile(np.arange(20), 20), counts
    with pytest.warns(UserWarning, match="look like counts.*feedback='implicit'.*columns='user,item,count'"):
        model = MatrixFactorization(n_factors=2, n_epochs=1, regularization=0.05, device="cpu").fit(data)
    assert model.feedback_ == "explicit"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MatrixFactorization(n_factors=2, n_epochs=1, feedback="explicit", device="cpu").fit(data)
