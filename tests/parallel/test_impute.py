"""`gpukit impute` over ranks, by --ranks and mpiexec."""

import os
import resource
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from gpukit.graphs import synth_graph
from gpukit.imputation import GraphImputer
from parallel.test_commands import GPUKIT, command, mpiexec, wait_for_ranks, wait_for_work

OPTIONS = {"weights": "slice", "center": "none", "device": "cpu", "iterations": 8, "rank_phase": False}
SETTINGS = ("--weights", "slice", "--center", "none", "--device", "cpu", "--quiet")


@pytest.fixture(scope="module")
def data():
    """A tensor that is large enough for ranks, with single entries missing."""
    return synth_graph("random", 60, (40, 30), 2, 0.2, entries=True, dtype="float64", noise=0.1)


@pytest.fixture(scope="module")
def path(data, tmp_path_factory):
    file = tmp_path_factory.mktemp("graph") / "g.npz"
    np.savez(file, tensor=data.tensor, mask=data.mask, adjacency=data.adjacency.toarray())
    return file


@pytest.mark.slow
@pytest.mark.parametrize("launcher, dtype, tolerance", [("--ranks 4", "float64", 1e-10), ("mpiexec", "float32", 1e-5)])
def test_the_tensor_of_one_process(data, path, tmp_path, launcher, dtype, tolerance):
    out = tmp_path / "full.npz"
    ranks, before = ([], mpiexec()) if launcher == "mpiexec" else (launcher.split(), ())
    options = ("--dtype", dtype, "--iterations", 8, "--no-rank-phase", "--output", out)
    code, _, err = command("impute", path, *SETTINGS, *options, *ranks, before=before)
    assert code == 0, err
    reference = GraphImputer(**OPTIONS, dtype=dtype).fit(data)
    result = np.load(out)
    assert np.linalg.norm(result["tensor"] - reference.completed_) <= tolerance * np.linalg.norm(reference.completed_)
    np.testing.assert_array_equal(result["ranks"], reference.ranks_)


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["--ranks 2", "mpiexec"])
def test_bad_data_are_reported_once(tmp_path, launcher):
    bad = tmp_path / "bad.npz"
    np.savez(bad, tensor=np.ones((3, 2, 2)), adjacency=np.ones((4, 4)))
    ranks, before = ([], mpiexec()) if launcher == "mpiexec" else (launcher.split(), ())
    code, out, err = command("impute", bad, *SETTINGS, *ranks, before=before)
    assert code == 2 and out == ""
    assert err.count("Error: ") == 1 and "Traceback" not in err


@pytest.mark.slow
def test_another_method_runs_on_rank_0(path, tmp_path):
    arguments = ("impute", path, "--method", "vertex-mean", "--device", "cpu", "--output", tmp_path / "o.npz")
    code, _, err = command(*arguments, "--ranks", 2)
    assert code == 0 and "filled in, by rank 0 itself" in err, err


def start_imputation(path, folder):
    """Start an imputation over two ranks that would take minutes; return its process and its ranks."""
    endless = ["--iterations", "100000", "--tolerance", "0", "--no-rank-phase", "--ranks", "2"]
    arguments = ["impute", str(path), *SETTINGS, *endless, "--output", str(folder / "o.npz")]
    process = subprocess.Popen([*GPUKIT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return process, wait_for_ranks(process, 2)


def have_ended(ranks):
    return not any(Path(f"/proc/{rank}").exists() for rank in ranks)


@pytest.mark.slow
@pytest.mark.parametrize("victim, work", [(0, 1.4), (1, 0.1), (1, 1.4)])
def test_a_killed_rank_ends_the_command(path, tmp_path, victim, work):
    """While ranks start and during the steps: one line, exit code 1, no file and no process left, within 30 s."""
    process, ranks = start_imputation(path, tmp_path)
    wait_for_work(ranks, work)
    start = time.monotonic()
    os.kill(ranks[victim], signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert time.monotonic() - start < 30
    assert process.returncode == 1 and err.count("\n") == 1, err
    seen = ("rank 0 was ended by signal 9",) if victim == 0 else ("Rank 1 has ended", "Another rank has ended")
    assert any(words in err for words in seen), err
    assert have_ended(ranks) and list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_ctrl_c_reaches_all(path, tmp_path):
    process, ranks = start_imputation(path, tmp_path)
    wait_for_work(ranks, 1.4)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "Interrupted." in err and err.count("\n") == 1, err
    assert have_ended(ranks) and list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_full_disk(path, tmp_path):
    """Rank 0 fails to write, and all ranks end with its message."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 18, 1 << 18))  # noqa: E731
    process = subprocess.Popen(
        [
            *GPUKIT,
            "impute",
            str(path),
            *SETTINGS,
            "--iterations",
            "2",
            "--no-rank-phase",
            "--ranks",
            "2",
            "-o",
            str(tmp_path / "o.npz"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=limit,
    )
    ranks = wait_for_ranks(process, 2)
    _, err = process.communicate(timeout=60)
    assert process.returncode in (1, 2) and err.count("Error: ") == 1 and "cannot write" in err, err
    assert have_ended(ranks) and list(tmp_path.iterdir()) == []
