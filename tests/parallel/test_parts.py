"""`gpukit train-lshmf 'parts/*'` over ranks: no rank has all ratings, and the model is that of one process."""

import json
import os
import subprocess
import sys

import distributed
import numpy as np
import pandas
import pytest
from ratings.test_read_parts import frame, pieces

from gpukit.factorization import MatrixFactorization
from gpukit.parallel.rendezvous import make_rendezvous
from gpukit.ratings import as_ratings, write_ratings
from parallel.test_commands import command, mpiexec, run_here

pytestmark = pytest.mark.slow
SETTINGS = ("--factors", 6, "--no-neighbors", "--learning-rate", 0.2, "--regularization", 0.05, "--epochs", 3)
SETTINGS = (*SETTINGS, "--device", "cpu", "--json", "--deterministic")
ROWS, USERS, ITEMS = 5_000_000, 40_000, 2_000
PEAK = """
import os, sys, tracemalloc
import pyarrow
from gpukit.factorization import MatrixFactorization
from gpukit.parallel.current_team import join_team
from gpukit.ratings.read_parts import read_parts

pattern, warm_up, factors = sys.argv[1:]
settings = {"n_epochs": 1, "learning_rate": 0.1, "regularization": 0.05, "device": "cpu"}
with join_team() as team:
    MatrixFactorization(n_factors=4, **settings).fit(read_parts(warm_up, team), team=team)
    tracemalloc.start()
    part = read_parts(pattern, team)
    share, reading = part.local.nbytes, tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    model = MatrixFactorization(n_factors=int(factors), **settings).fit(part, team=team)
    training, users = tracemalloc.get_traced_memory()[1], len(model.user_ids_)
    print(len(part), share, users, reading, training, pyarrow.default_memory_pool().max_memory())
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder of 30,000 ratings in parts: Parquet, csv, and one csv; text ids."""
    folder, table = tmp_path_factory.mktemp("parts"), frame(30_000, 2000, 300).astype({"user": str})
    table["user"] = "u" + table["user"]
    for k, part in enumerate(pieces(table, 3)):
        part.to_parquet(folder / f"{2 - k}.parquet", row_group_size=3000)
        part.to_csv(folder / f"{k}.csv", index=False)
    table.to_csv(folder / "whole.txt", index=False)
    write_ratings(as_ratings(table), folder / "whole.gkr")
    return folder


@pytest.fixture(scope="module")
def reference(folder):
    """Return (model, JSON output) of one process; the model is that of a file named as such."""
    code, out, err = run_here("train-lshmf", folder / "*.csv", *SETTINGS)
    assert code == 0, err
    code, _, err = run_here("train-lshmf", folder / "whole.txt", *SETTINGS, "--model", folder / "one.gpukit")
    assert code == 0, err
    return MatrixFactorization.load(folder / "one.gpukit"), json.loads(out)


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster:
        yield cluster.scheduler_address


@pytest.mark.parametrize(
    "launcher, kind", [("--ranks", "parquet"), ("--ranks", "csv"), ("--dask", "parquet"), ("mpiexec", "csv")]
)
def test_the_model_of_one_process(folder, tmp_path, reference, cluster, launcher, kind):
    """To the bit, with the errors of the same held-out ratings."""
    options = {"--ranks": ("--ranks", 2), "--dask": ("--dask", cluster), "mpiexec": ()}[launcher]
    before, path = mpiexec() if launcher == "mpiexec" else (), tmp_path / "many.gpukit"
    code, out, err = command("train-lshmf", folder / f"*.{kind}", *SETTINGS, *options, "--model", path, before=before)
    assert code == 0, err
    check_model(MatrixFactorization.load(path), reference[0])
    check_result(json.loads(out), reference[1])


def check_model(model, expected):
    """Assert that models are equal to the bit."""
    for part in ("_state", "_rated"):
        for name, array in getattr(expected, part)._asdict().items():
            np.testing.assert_array_equal(getattr(getattr(model, part), name), array, name)
    np.testing.assert_array_equal(model.user_ids_, expected.user_ids_)


def check_result(result, expected):
    """Assert that JSON outputs are of the same ratings and errors."""
    for name in ("users", "items", "train_ratings", "test_ratings", "unknown_in_test"):
        assert result[name] == expected[name], name
    for row, other in zip(result["results"], expected["results"], strict=True):
        assert list(row.values())[1:] == pytest.approx(list(other.values())[1:], rel=1e-9)
        assert row["predictor"] == other["predictor"]


@pytest.mark.parametrize("launcher", ["--ranks", "mpiexec"])
def test_a_bad_value_ends_all_ranks(tmp_path, launcher):
    """One line with file and line, exit code 2."""
    for k, part in enumerate(pieces(frame(600).astype({"rating": str}), 2)):
        if k:
            part.iloc[250, 2] = "hello"
        part.to_csv(tmp_path / f"{k}.csv", index=False)
    options, before = (("--ranks", 2), ()) if launcher == "--ranks" else ((), mpiexec())
    code, out, err = command("train-lshmf", tmp_path / "*.csv", "--device", "cpu", "--quiet", *options, before=before)
    assert code == 2 and out == ""
    assert err.count("Error: ") == 1 and "1.csv, line 252: the rating 'hello' is not a number" in err


@pytest.mark.parametrize(
    "name, options, reason",
    [
        ("*.csv", ("--early-stop", 2), "--early-stop does not work on ratings in parts: rank 0 reads all"),
        ("*.csv", ("--solver", "als"), "--solver does not work on ratings in parts: rank 0 reads all"),
        ("whole.gkr", ("--early-stop", 2), "are held out for testing"),
    ],
    ids=str,
)
def test_all_ranks_have_all_ratings_for_some_options(folder, tmp_path, name, options, reason):
    """Rank 0 reads files of a pattern and says so; all ranks map a .gkr."""
    given = ("train-lshmf", folder / name, "--factors", 4, "--epochs", 2, "--device", "cpu", *options)
    models = []
    for model, run, ranks in (("one", run_here, ()), ("two", command, ("--ranks", 2))):
        code, _, err = run(*given, "--no-neighbors", "--deterministic", *ranks, "--model", tmp_path / model)
        assert code == 0 and (reason in err or not ranks), err
        assert ("rank 0 reads all" in err) == bool(ranks and name == "*.csv")
        models.append(MatrixFactorization.load(tmp_path / model))
    np.testing.assert_array_equal(models[0].user_factors_, models[1].user_factors_)


def test_equal_ratings_are_refused_with_the_remedy(tmp_path):
    frame(100).assign(rating=1).to_csv(tmp_path / "a.csv", index=False)
    code, _, err = command("train-lshmf", tmp_path / "*.csv", "--device", "cpu", "--quiet", "--ranks", 2)
    assert code == 2 and "name a file instead of a pattern" in err and err.count("\n") == 1


def test_a_part_is_not_overwritten(folder):
    code, _, err = command("train-lshmf", folder / "*.csv", "--ranks", 2, "--model", folder / "0.csv", "--force")
    assert code == 2 and "would overwrite a file that this command reads" in err


@pytest.mark.parametrize("launcher", ["--ranks", "mpiexec"])
def test_the_rows_of_a_copy(folder, tmp_path, reference, launcher):
    """Each rank maps a range of a .gkr. The model, one file, and the held-out ratings are those of one process."""
    options, before = (("--ranks", 3), ()) if launcher == "--ranks" else ((), mpiexec())
    path = tmp_path / "many.gpukit"
    given = ("train-lshmf", folder / "whole.gkr", *SETTINGS)
    code, expected, err = run_here(*given)
    assert code == 0, err
    code, out, err = command(*given, *options, "--model", path, before=before)
    assert code == 0, err
    assert list(tmp_path.iterdir()) == [path]
    check_model(MatrixFactorization.load(path), reference[0])
    check_result(json.loads(out), json.loads(expected))


def write_large(folder, kind, rows=ROWS, users=USERS):
    """Write ratings in four parts of a kind, or a .gkr."""
    rng, k = np.random.default_rng(0), np.arange(rows, dtype=np.int64)
    pairs = rng.permutation(k) * (users * ITEMS // rows)
    table = pandas.DataFrame({"user": pairs // ITEMS, "item": pairs % ITEMS, "rating": np.float32(k % 5 + 1)})
    if kind == "gkr":
        write_ratings(as_ratings(table), folder / "whole.gkr")
    for number, part in enumerate(pieces(table, 4) if kind != "gkr" else ()):
        if kind == "parquet":
            part.to_parquet(folder / f"{number}.parquet", row_group_size=1 << 18, index=False)
        else:
            part.to_csv(folder / f"{number}.csv", index=False)


def measure_ranks(arguments, size):
    """Return the numbers that each rank of PEAK prints."""
    environment, meeting = {**os.environ, "GPUKIT_NUM_THREADS": "1"}, make_rendezvous(size)  # tracemalloc needs the GIL
    words = [sys.executable, "-P", "-c", PEAK, *map(str, arguments)]
    ranks = [
        subprocess.Popen(words, env={**environment, **meeting.environment(rank)}, stdout=subprocess.PIPE, text=True)
        for rank in range(size)
    ]
    printed = [process.communicate(timeout=100)[0].split() for process in ranks]
    assert not any(process.returncode for process in ranks)
    return [tuple(map(int, words)) for words in printed]


@pytest.mark.parametrize("kind", ["parquet", "csv", "gkr"])
def test_memory_of_a_rank(folder, tmp_path, kind):
    """Of reading and of training: at most 2.5 times its share, and some numbers for each user and item.

    pyarrow's blocks do not grow with the share. A user or an item has 32 bytes in each of five tables.
    """
    write_large(tmp_path, kind)
    name = "whole.gkr" if kind == "gkr" else f"*.{kind}"
    measured = measure_ranks((tmp_path / name, folder / name, 4), 2)
    for total, share, _, reading, training, pool in measured:
        assert total == ROWS and 0.45 < share / (12 * ROWS) < 0.55
        assert reading <= 2.5 * share + 60 * (USERS + ITEMS)
        assert training <= 2.5 * share + 160 * (USERS + ITEMS)
        assert pool < 48 << 20


def test_memory_of_the_rows_of_users(folder, tmp_path):
    """Training takes at most 2.5 times the ratings of a rank and the rows of its users, and three tables of items.

    A row has 160 bytes. With the rows of all users on every rank it took 2.9 times as much as both.
    """
    size, rows, users = 4, 1_000_000, 20_000
    write_large(tmp_path, "parquet", rows, users)
    for total, share, n_own, _, training, _ in measure_ranks((tmp_path / "*.parquet", folder / "*.parquet", 32), size):
        assert total == rows and 0.9 < size * share / (12 * rows) < 1.1 and 0.9 < size * n_own / users < 1.1
        assert training <= 2.5 * (share + 160 * n_own) + 3 * 160 * ITEMS
