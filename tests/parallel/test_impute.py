"""`gpukit impute` over ranks, by --ranks and by mpiexec: the tensor of one process; one line when something fails."""

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
from parallel.test_commands import GPUKIT, command, mpiexec, started

WALK = {"weights": "slice", "center": "none", "device": "cpu", "iterations": 8, "rank_phase": False}
SETTINGS = ("--weights", "slice", "--center", "none", "--device", "cpu", "--quiet")


@pytest.fixture(scope="module")
def data():
    """A tensor that is large enough to be shared out, of single entries missing."""
    return synth_graph("random", 60, (40, 30), 2, 0.2, entries=True, dtype="float64", noise=0.1)


@pytest.fixture(scope="module")
def path(data, tmp_path_factory):
    file = tmp_path_factory.mktemp("graph") / "g.npz"
    np.savez(file, tensor=data.tensor, mask=data.mask, adjacency=data.adjacency.toarray())
    return file


@pytest.mark.slow
@pytest.mark.parametrize("how, dtype, close", [("--ranks 4", "float64", 1e-10), ("mpiexec", "float32", 1e-5)])
def test_the_tensor_of_one_process(data, path, tmp_path, how, dtype, close):
    out = tmp_path / "full.npz"
    ranks, before = ([], mpiexec()) if how == "mpiexec" else (how.split(), ())
    more = ("--dtype", dtype, "--iterations", 8, "--no-rank-phase", "--output", out)
    code, _, err = command("impute", path, *SETTINGS, *more, *ranks, before=before)
    assert code == 0, err
    alone = GraphImputer(**WALK, dtype=dtype).fit(data)
    found = np.load(out)
    assert np.linalg.norm(found["tensor"] - alone.completed_) <= close * np.linalg.norm(alone.completed_)
    np.testing.assert_array_equal(found["ranks"], alone.ranks_)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["--ranks 2", "mpiexec"])
def test_bad_data_are_told_once(tmp_path, how):
    bad = tmp_path / "bad.npz"
    np.savez(bad, tensor=np.ones((3, 2, 2)), adjacency=np.ones((4, 4)))
    ranks, before = ([], mpiexec()) if how == "mpiexec" else (how.split(), ())
    code, out, err = command("impute", bad, *SETTINGS, *ranks, before=before)
    assert code == 2 and out == ""
    assert err.count("Error: ") == 1 and "Traceback" not in err


@pytest.mark.slow
def test_another_method_is_done_by_the_first_rank(path, tmp_path):
    arguments = ("impute", path, "--method", "vertex-mean", "--device", "cpu", "--output", tmp_path / "o.npz")
    code, _, err = command(*arguments, "--ranks", 2)
    assert code == 0 and "filled in, by rank 0 itself" in err, err


def walking(path, folder, *more, **how):
    """The process of an imputation over two ranks that would take minutes, and its ranks."""
    endless = ["--iterations", "100000", "--tolerance", "0", "--no-rank-phase", "--ranks", "2"]
    arguments = ["impute", str(path), *SETTINGS, *endless, "--output", str(folder / "o.npz"), *more]
    process = subprocess.Popen([*GPUKIT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how)
    return process, started(process, 2)


def gone(ranks):
    return not any(Path(f"/proc/{rank}").exists() for rank in ranks)


@pytest.mark.slow
@pytest.mark.parametrize("victim, after", [(0, 2.0), (1, 0.1), (1, 3.0)])
def test_a_killed_rank_ends_the_command(path, tmp_path, victim, after):
    """While ranks start, and in the midst of the steps: one line, exit code 1, no file, nobody left, within 30 s."""
    process, ranks = walking(path, tmp_path)
    time.sleep(after)
    begun = time.monotonic()
    os.kill(ranks[victim], signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert time.monotonic() - begun < 30
    assert process.returncode == 1 and err.count("\n") == 1, err
    assert ("rank 0 was ended by signal 9" if victim == 0 else "Rank 1 has ended") in err
    assert gone(ranks) and list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_ctrl_c_reaches_all(path, tmp_path):
    process, ranks = walking(path, tmp_path)
    time.sleep(2.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "Interrupted." in err and err.count("\n") == 1, err
    assert gone(ranks) and list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_full_disk(path, tmp_path):
    """The first rank alone writes; that fails, and all end by its line."""
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
    ranks = started(process, 2)
    _, err = process.communicate(timeout=60)
    assert process.returncode in (1, 2) and err.count("Error: ") == 1 and "cannot write" in err, err
    assert gone(ranks) and list(tmp_path.iterdir()) == []
