"""`gpukit recommend --all` over ranks: the lists of one process; one line on failures."""

import functools
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from gpukit.factorization import MatrixFactorization
from gpukit.ratings import synth_ratings
from parallel.test_commands import GPUKIT, command, mpiexec, run_here, wait_for_ranks


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model of 12,000 users without lists, more than one span for each of two ranks."""
    path = tmp_path_factory.mktemp("model") / "m.gpukit"
    table = synth_ratings("ml-10m", 0.03, 1)
    MatrixFactorization(4, n_epochs=1, device="cpu", learning_rate=0.1, regularization=0.05).fit(table).save(path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("launcher, by", [("--ranks 3", "lists"), ("mpiexec", "rating")])
def test_the_lists_of_one_process(model, tmp_path, launcher, by, monkeypatch):
    ranks, before = ([], mpiexec()) if launcher == "mpiexec" else (launcher.split(), ())
    lists = []
    for name, run, options in (("one", run_here, ()), ("many", functools.partial(command, before=before), ranks)):
        copy = shutil.copy(model, tmp_path / f"{name}.gpukit")
        arguments = ("--all", "-n", 3, "--by", by, "--device", "cpu", "--quiet", "--output", tmp_path / name)
        code, out, err = run("recommend", copy, *arguments, *options)
        assert code == 0 and out == "", err
        lists.append((tmp_path / name).read_text())
    assert lists[0] == lists[1] and lists[0].count("\n") > 20_000


@pytest.mark.slow
def test_ranks_require_all_users(model):
    code, out, err = run_here("recommend", model, "--user", 1, "--ranks", 2)
    assert code == 2 and out == "" and "add --all" in err and err.count("\n") == 1
    code, out, err = run_here("recommend", model, "--user", 1, "--gpus", "auto", "--device", "cpu")
    assert code == 0 and err.startswith("--gpus auto: one process (") and out.count("\n") == 11


@pytest.mark.slow
def test_a_killed_rank_ends_the_command(model, tmp_path):
    arguments = ["recommend", str(model), "--all", "--device", "cpu", "--quiet", "--output", str(tmp_path / "o.csv")]
    process = subprocess.Popen([*GPUKIT, *arguments, "--ranks", "2"], stderr=subprocess.PIPE, text=True)
    ranks = wait_for_ranks(process, 2)
    start = time.monotonic()
    os.kill(ranks[1], signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert time.monotonic() - start < 30
    assert process.returncode == 1 and err.count("\n") == 1 and " has ended" in err, err
    assert not any(Path(f"/proc/{rank}").exists() for rank in ranks)
    assert list(tmp_path.iterdir()) == []
