"""Exact csv output for all ids and titles except surrogates."""

import numpy as np
import pytest
from odd_words import HEADERS, WORDS, drawn_words

from gpukit.errors import DataError
from gpukit.factorization import MatrixFactorization
from gpukit.ratings import as_ratings, read_ratings, write_ratings

LISTED = "user,-,item,rating,-"  # user,rank,item,score,title


@pytest.fixture(scope="module")
def words():
    return [*dict.fromkeys([*WORDS, *HEADERS, *drawn_words(5, 200)])]


@pytest.fixture(scope="module")
def files(words, tmp_path_factory):
    """A model of users and items with unusual ids, its ratings, and unusual titles."""
    from gpukit.cli.outputs import write_csv

    folder, rng = tmp_path_factory.mktemp("odd"), np.random.default_rng(0)
    rows = np.repeat(np.arange(len(words)), 4)
    items = (rows + np.tile(rng.integers(0, len(words), 4), len(words))) % len(words)
    names = np.array(words)
    pairs = dict.fromkeys(zip(names[rows].tolist(), names[items].tolist()))
    users, items = map(list, zip(*pairs))
    ratings = as_ratings((users, items, rng.integers(1, 6, len(users)).astype(np.float32)))
    options = {"n_factors": 2, "n_epochs": 1, "device": "cpu", "random_state": 0}
    MatrixFactorization(**options).fit(ratings).save(folder / "model.gpukit")
    write_ratings(ratings, folder / "ratings.csv")
    write_csv(str(folder / "titles.csv"), ["item", "title"], [lambda: [words, words[::-1]]])
    return folder


@pytest.mark.slow
def test_lists_with_titles(verb, files, words):
    out, titles = files / "lists.csv", files / "titles.csv"
    result = verb("recommend", files / "model.gpukit", "--all", "-n", 3, "--by", "rating", "--titles", titles,
                  "--output", out, "--quiet")  # fmt: skip
    assert result.code == 0, result
    found = read_ratings(out, columns=LISTED)
    assert set(found.user_ids.tolist()) == set(words) and set(found.item_ids.tolist()) <= set(words)
    shown = read_titles_of(out)
    assert shown and shown.items() <= dict(zip(words, words[::-1])).items()


def read_titles_of(path):
    """Return {item: title} of a file of lists."""
    from gpukit.io.records import lines_of, words_of

    lines = [words_of(line, ",") for _, line in lines_of(path.read_bytes().decode(), ",") if line]
    assert lines[0] == ["user", "rank", "item", "score", "title"]
    return {line[2]: line[4] for line in lines[1:]}


def test_predictions(verb, files):
    ratings = read_ratings(files / "ratings.csv")
    out = files / "predicted.csv"
    assert verb("predict", files / "model.gpukit", files / "ratings.csv", "--output", out, "--quiet").code == 0
    found = read_ratings(out, columns="user,item,rating")
    pairs = [{*zip(one.user_ids[one.users].tolist(), one.item_ids[one.items].tolist())} for one in (found, ratings)]
    assert pairs[0] == pairs[1] and len(found) == len(ratings)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npz"])
def test_exports(files, words, suffix):
    from gpukit import load_model
    from gpukit.io.records import lines_of, words_of

    path, model = files / f"factors{suffix}", load_model(files / "model.gpukit")
    model.export(path, "users")
    if suffix == ".npz":
        with np.load(path) as arrays:
            ids = arrays["user_ids"].tolist()
    elif suffix == ".parquet":
        ids = pytest.importorskip("pyarrow.parquet").read_table(path)["id"].to_pylist()
    else:
        ids = [words_of(line, ",")[1] for _, line in lines_of(path.read_bytes().decode(), ",") if line][1:]
    assert ids == model.user_ids_.tolist() and set(ids) == set(words)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npz", ".gpukit"])
def test_surrogates_are_refused_in_one_line(tmp_path, suffix):
    ratings = as_ratings((["a", "\ud800", "b"], ["x", "y", "z"], np.array([1, 2, 3], np.float32)))
    model = MatrixFactorization(2, n_epochs=1, device="cpu").fit(ratings)
    with pytest.raises(DataError, match="has a surrogate, which UTF-8 does not hold") as caught:
        (model.save if suffix == ".gpukit" else model.export)(tmp_path / f"a{suffix}")
    assert str(caught.value).isprintable() and list(tmp_path.iterdir()) == []


def test_titles_with_surrogates_are_refused(tmp_path):
    from gpukit.cli.outputs import write_csv

    for titles in (["\udcff"], np.array(["\udcff"])):
        with pytest.raises(DataError, match="has a surrogate"):
            write_csv(str(tmp_path / "t.csv"), ["item", "title"], [lambda titles=titles: [["1"], titles]])
    assert list(tmp_path.iterdir()) == []
