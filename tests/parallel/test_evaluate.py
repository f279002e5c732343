"""`gpukit evaluate` over ranks: the metrics of one process; one line on failures."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from gpukit.factorization import MatrixFactorization
from gpukit.factorization.answers.judging import SPAN, lists_by
from gpukit.parallel import ALONE
from gpukit.ratings import synth_ratings
from parallel.test_commands import GPUKIT, command, mpiexec, run_here, wait_for_ranks
from parallel.test_team import together


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return (model, test set) of 12,000 users, more than one span."""
    folder = tmp_path_factory.mktemp("evaluated")
    train, test = synth_ratings("ml-10m", 0.03, 1).split(0.2, 0)
    MatrixFactorization(4, n_epochs=1, device="cpu", learning_rate=0.1, regularization=0.05).fit(train).save(
        folder / "m.gpukit"
    )
    columns = test.user_ids[test.users], test.item_ids[test.items], test.values
    np.savetxt(folder / "test.csv", np.stack(columns, axis=1), "%g", delimiter=",")
    return folder / "m.gpukit", folder / "test.csv"


@pytest.mark.parametrize(
    "launcher", [pytest.param("--ranks 3", marks=pytest.mark.slow), pytest.param("mpiexec", marks=pytest.mark.nightly)]
)
def test_the_metrics_of_one_process(files, launcher):
    ranks, before = ([], mpiexec()) if launcher == "mpiexec" else (launcher.split(), ())
    words, results = ("evaluate", *files, "--lists", "-k", 3, "-k", 10, "--device", "cpu", "--json"), []
    for code, out, err in (run_here(*words), command(*words, *ranks, before=before)):
        assert code == 0, err
        results.append({key: value for key, value in json.loads(out).items() if key not in ("device", "seconds")})
    assert results[0] == results[1] and results[0]["lists"]["users"] > SPAN


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("count", [0, 5, SPAN, 2 * SPAN + 7])
def test_every_rank_gets_all_lists_in_order(size, count):
    def lists(users, n):
        for first in range(0, len(users), 1000):
            tile = users[first : first + 1000]
            yield tile, np.int32(tile[:, None] + np.arange(n))

    def work(team):
        return [np.concatenate(parts) for parts in zip(*lists_by(team, lists, users, 2))] or None

    users = np.arange(count) * 3
    expected = work(ALONE)
    for result in together(size, work):
        if expected is None:
            assert result is None
            continue
        for actual, desired in zip(result, expected):
            np.testing.assert_array_equal(actual, desired)


@pytest.mark.slow
def test_ranks_require_lists(files):
    code, out, err = command("evaluate", *files, "--device", "cpu", "--ranks", 2)
    assert code == 2 and out == "" and "add --lists" in err and err.count("\n") == 1, err


@pytest.mark.slow
def test_a_killed_rank_ends_the_command(files):
    arguments = [*map(str, files), "--lists", "--device", "cpu", "--quiet", "--ranks", "2"]
    process = subprocess.Popen(
        [*GPUKIT, "evaluate", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    ranks = wait_for_ranks(process, 2)
    start = time.monotonic()
    os.kill(ranks[1], signal.SIGKILL)
    out, err = process.communicate(timeout=60)
    assert time.monotonic() - start < 30
    assert process.returncode == 1 and out == "" and err.count("\n") == 1 and " has ended" in err, err
    assert not any(Path(f"/proc/{rank}").exists() for rank in ranks)
