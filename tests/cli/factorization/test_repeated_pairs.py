"""The number of merged pairs, reported by every command with ratings.

It is in a line and in --json.
"""

import json

import numpy as np
import pytest
from cli_support import CPU, NAMED, planted

from gpukit import MatrixFactorization
from gpukit.errors import DataError


@pytest.fixture
def repeated(ratings_file, tmp_path):
    """The ratings of ratings_file with their first two pairs repeated at the end."""
    lines = ratings_file.read_text().splitlines()
    path = tmp_path / "repeated.csv"
    path.write_text("\n".join([*lines, *lines[:2]]) + "\n")
    return path


COMMANDS = {
    "convert": ("convert", "FILE", "out.gkr"),
    "train": ("train-lshmf", "FILE", *NAMED),
    "train on a test": ("train-lshmf", "ratings.csv", "--test", "FILE", *NAMED),
    "tune": ("tune", "FILE", "--epochs", 2, "--grid", "factors=4", "--cv", 2, *CPU),
    "evaluate": ("evaluate", "MODEL", "FILE", *CPU),
    "update": ("update", "MODEL", "FILE", "--model", "updated.gpukit", *CPU),
    "recommend": ("recommend", "MODEL", "--ratings", "FILE", "--by", "rating", *CPU),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_merged_pairs_are_counted(verb, ratings_file, repeated, model_file, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ratings.csv").write_bytes(ratings_file.read_bytes())
    command = [{"FILE": repeated, "MODEL": model_file}.get(word, word) for word in COMMANDS[name]]
    result = verb(*command)
    total = len(repeated.read_text().splitlines())
    line = f"{repeated}: 2 of {total:,} ratings repeat a pair and were merged"
    assert result.code == 0 and result.err.count(line) == 1, result
    result = verb(*command, "--json", *(["--force"] if "out.gkr" in command or "updated.gpukit" in command else []))
    read = {entry["file"]: entry for entry in json.loads(result.out)["reading"]}
    assert read[str(repeated)]["merged"] == 2 and read[str(repeated)]["ratings"] == total - 2
    assert line not in result.err and line not in verb(*command, "--quiet", "--json").err


def test_ratings_of_one_user(verb, model_file, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("a01,5\na02,3\na01,1\n")
    result = verb("recommend", model_file, "--ratings", path, "--by", "rating", *CPU)
    assert result.code == 0 and f"{path}: 1 of 3 ratings repeat a pair and were merged" in result.err


@pytest.mark.slow
def test_a_repeated_pair_without_times_is_named_by_its_ids():
    users, items, values = planted()
    users, items = np.append(users, users[:1]) + 100, np.append(items, items[:1]) + 500
    with pytest.raises(DataError, match=f"User {users[0]} has rated item {items[0]} already when it comes again"):
        MatrixFactorization(device="cpu").fit((users, items, np.append(values, 1).astype(np.float32)))


def test_estimators_take_the_later_rating(ratings_file):
    """DataFrames with a column of times, in any order of lines.

    For fit, partial_fit and recommend_for.
    """
    pandas = pytest.importorskip("pandas")
    from gpukit.factorization import MatrixFactorization

    table = pandas.read_csv(ratings_file, names=["user", "item", "rating"]).assign(timestamp=10)
    first = table.iloc[:1].assign(rating=6 - table.rating[0], timestamp=5)
    changed = pandas.concat([table, first])
    options = {"n_factors": 4, "n_epochs": 2, "device": "cpu", "deterministic": True, "random_state": 0}
    plain = MatrixFactorization(**options).fit(table.drop(columns="timestamp"))
    with pytest.warns(UserWarning, match=f"1 of {len(changed)} ratings repeat a pair and were merged"):
        timed = MatrixFactorization(**options).fit(changed)
    assert np.array_equal(plain.item_factors_, timed.item_factors_)
    with pytest.warns(UserWarning, match="1 of 2 ratings repeat a pair"):
        timed.partial_fit(changed.iloc[[0, -1]])
    assert timed.updates_[-1]["corrected"] == 0
    user = changed.iloc[[0, 1, -1]].assign(user="x")
    with pytest.warns(UserWarning, match="1 of 3 ratings repeat a pair"):
        found = timed.recommend_for(user, n=3, by="rating")
    wanted = timed.recommend_for(user.iloc[:2], n=3, by="rating")
    assert np.array_equal(found[2], wanted[2])
