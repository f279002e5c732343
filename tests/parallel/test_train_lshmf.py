"""`gpukit train-lshmf` over ranks, by --ranks and mpiexec."""

import json
import os
import pty
import select
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from cli_support import heed_ctrl_c, read_until

from gpukit.cli.factorization.table import options_named
from gpukit.factorization import MatrixFactorization
from gpukit.parallel import TeamError
from gpukit.persist import load_header
from gpukit.ratings import synth_ratings
from parallel.test_commands import GPUKIT, command, mpiexec, run_here, wait_for_ranks, wait_for_work

STEPS = ("--learning-rate", "0.01", "--regularization", "0.05")  # all that is chosen without neighbours and ALS
SETTINGS = ("--factors", 6, "--no-neighbors", "--learning-rate", 0.2, "--device", "cpu", "--json")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A file of 40,000 ratings."""
    table, file = synth_ratings("ml-10m", 0.004, 1), tmp_path_factory.mktemp("ratings") / "ratings.csv"
    columns = table.user_ids[table.users], table.item_ids[table.items], table.values
    np.savetxt(file, np.stack(columns, axis=1), "%g", delimiter=",")
    return file


@pytest.fixture(scope="module")
def reference(path, tmp_path_factory):
    """Return (model, JSON output) of a reproducible training of one process."""
    model = tmp_path_factory.mktemp("reference") / "one.gpukit"
    code, out, err = run_here("train-lshmf", path, *SETTINGS, "--epochs", 3, "--deterministic", "--model", model)
    assert code == 0, err
    return MatrixFactorization.load(model), json.loads(out)


@pytest.mark.slow
@pytest.mark.parametrize("launcher", [pytest.param("--ranks 2", marks=pytest.mark.nightly), "--ranks 3", "mpiexec"])
def test_the_model_of_one_process(path, tmp_path, reference, launcher):
    """Also from a pipe, which only rank 0 reads, and with more ranks than blocks of ratings (two)."""
    model = tmp_path / "many.gpukit"
    ranks, before = ([], mpiexec()) if launcher == "mpiexec" else (launcher.split(), ())
    arguments = (*SETTINGS, "--epochs", 3, "--deterministic", "--model", model, *ranks)
    source, stdin = (path, None) if launcher == "mpiexec" else ("-", path.read_text())
    code, out, err = command("train-lshmf", source, *arguments, before=before, stdin=stdin)
    assert code == 0, err
    result = MatrixFactorization.load(model)
    for name, array in reference[0]._state._asdict().items():
        np.testing.assert_array_equal(getattr(result._state, name), array, name)
    for name, array in reference[0]._rated._asdict().items():
        np.testing.assert_array_equal(getattr(result._rated, name), array, name)
    assert json.loads(out)["results"] == reference[1]["results"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "launcher, solver", [("--ranks 3", ("als",)), ("mpiexec", ("ials", "--positive-from", 3))], ids=["als", "ials"]
)
def test_least_squares_gives_the_model_of_one_process(path, tmp_path, launcher, solver):
    settings = ("train-lshmf", path, "--factors", 4, "--epochs", 2, "--device", "cpu", "--quiet", "--solver", *solver)
    settings = (*settings, "--regularization", 0.1, "--no-neighbors")
    ranks, before = ([], mpiexec()) if launcher == "mpiexec" else (launcher.split(), ())
    assert run_here(*settings, "--model", tmp_path / "one")[0] == 0
    code, _, err = command(*settings, *ranks, "--model", tmp_path / "many", before=before)
    assert code == 0, err
    one, many = (MatrixFactorization.load(tmp_path / name) for name in ("one", "many"))
    for name, array in one._state._asdict().items():
        np.testing.assert_array_equal(getattr(many._state, name), array, name)


@pytest.mark.slow
def test_refusals_are_reported_once(path):
    code, out, err = command("train-lshmf", path, "--device", "cpu", "--quiet", "--ranks", 2, "--positive-from", 4)
    assert code == 2 and out == "" and err.count("\n") == 1
    assert err.startswith("Error: ") and "by --solver ials alone; got --solver auto" in err


@pytest.mark.slow
def test_options_are_refused_before_anything_is_read(tmp_path):
    """Those of neighbourhoods only where there are any."""
    words = ("train-lshmf", tmp_path / "none.csv", "--ranks", 2, "--hash", "minhash")
    code, _, err = command(*words)
    assert code == 2 and err.count("\n") == 1 and err.startswith("Error: --hash minhash ")
    code, _, err = command(*words, "--neighbors", 0)
    assert code == 2 and err.count("\n") == 1 and f"{tmp_path / 'none.csv'} does not exist" in err


def long_training(path, folder, *options):
    """Start a training over two ranks that would take minutes; return its process and its ranks."""
    settings = ["--factors", "6", "--no-neighbors", "--device", "cpu", "--quiet", "--epochs", "1000000"]
    arguments = ["train-lshmf", str(path), *settings, "--ranks", "2", "--model", str(folder / "m.gpukit"), *options]
    process = subprocess.Popen([*GPUKIT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return process, wait_for_ranks(process, 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "victim, work, options",
    [
        (0, (0.4, 0), STEPS),
        (1, (1.6, 0), STEPS[:2]),
        (1, (1.6, 1.6), STEPS),
        (1, (1.6, 1.6), ("--solver", "als")),
    ],
    ids=["reads", "rank 0 chooses", "trains", "als"],
)
def test_a_killed_rank_ends_the_command(path, tmp_path, victim, work, options):
    """While ratings are read, prepared or trained on: one line, exit code 1, no file and no process left, in 30 s."""
    process, ranks = long_training(path, tmp_path, *options)
    for rank, seconds in zip(ranks, work):
        wait_for_work([rank], seconds)
    start = time.monotonic()
    os.kill(ranks[victim], signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert time.monotonic() - start < 30
    assert process.returncode == 1 and err.count("\n") == 1, err
    seen = ("rank 0 was ended by signal 9",) if victim == 0 else ("Rank 1 has ended", "Another rank has ended")
    assert any(words in err for words in seen), err
    assert not any(Path(f"/proc/{rank}").exists() for rank in ranks)
    assert list(tmp_path.iterdir()) == []


def read_rest(terminal):
    """Return the unread output on the terminal of a program that has ended."""
    return os.read(terminal, 4096) if select.select([terminal], [], [], 0.2)[0] else b""


@pytest.mark.slow
def test_ctrl_c_leaves_a_checkpoint_for_any_number_of_ranks(path, tmp_path):
    checkpoint, settings = tmp_path / "checkpoint", [*map(str, SETTINGS[:-1]), "--learning-rate", "0.01"]
    ours, theirs = pty.openpty()
    arguments = [
        "train-lshmf",
        str(path),
        *settings,
        "--epochs",
        "1000000",
        "--ranks",
        "2",
        "--checkpoint",
        str(checkpoint),
    ]
    process = subprocess.Popen([*GPUKIT, *arguments], stdout=subprocess.PIPE, stderr=theirs, preexec_fn=heed_ctrl_c)
    try:
        ranks = wait_for_ranks(process, 2)
        read_until(ours, b"training [")
        process.send_signal(signal.SIGINT)
        last = read_until(ours, b"goes on from it.")
        process.communicate(timeout=60)
        last += read_rest(ours)
    finally:
        process.kill()
        os.close(ours)
        os.close(theirs)
    assert process.returncode == 130 and b"Traceback" not in last and last.count(b"Interrupted") == 1
    assert not any(Path(f"/proc/{rank}").exists() for rank in ranks)
    epochs = load_header(checkpoint)["epochs_done"]
    resumed = (*settings, "--json", "--epochs", epochs + 1, "--checkpoint", checkpoint, "--resume")
    for ranks in ((), ("--ranks", 3)):
        code, out, err = command("train-lshmf", path, *resumed, *ranks)
        assert code == 0, err
        assert json.loads(out)["epochs"] == epochs + 1


def test_another_ranks_error_keeps_its_exit_code():
    """The message names the options of the command."""
    error = TeamError("n_factors=0 is too few.")
    error.exit_code = 2
    with pytest.raises(TeamError, match=r"^--factors 0 is too few\.$") as raised, options_named():
        raise error
    assert raised.value.exit_code == 2
