"""`gpukit ranksvm` over ranks, by --ranks and mpiexec."""

import contextlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from gpukit.cli import main, teams
from gpukit.factorization import MatrixFactorization
from gpukit.ranking import RankSVM
from gpukit.ratings import read_ratings
from gpukit.runtime.launcher_env import REPORT_SECONDS

GPUKIT = [sys.executable, "-P", "-c", "from gpukit.cli.process import main; main()"]
FEW = "--factors 4 --no-neighbors --epochs 1 --regularization 0.1"  # all that would be chosen


def mpiexec():
    """Return the command of mpiexec with two ranks, from the environment of this Python or from PATH."""
    local = Path(sys.executable).with_name("mpiexec")
    program = str(local) if local.exists() else shutil.which("mpiexec")
    assert program, "mpiexec is missing: pip install 'gpukit[test]'"
    return [program, "--allow-run-as-root", "--oversubscribe", "-n", "2"]


def command(*arguments, before=(), stdin=None):
    words = [*before, *GPUKIT, *map(str, arguments)]
    result = subprocess.run(words, capture_output=True, text=True, timeout=200, input=stdin)
    return result.returncode, result.stdout, result.stderr


def run_here(*arguments):
    """Return the exit code and the output of a command that starts no ranks, run in this process."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = main.run(list(map(str, arguments)))
    return code, out.getvalue(), err.getvalue()


def ranking(root, path):
    """Return the arguments of a training that chooses between two C."""
    options = ("--fold", 1, "--device", "cpu", "--c-grid", "2^-4:2^4:256")
    return ("ranksvm", root / "data/letor-sample", *options, "--model", path)


@pytest.fixture(scope="module")
def reference(root, tmp_path_factory):
    """The model of one process."""
    path = tmp_path_factory.mktemp("reference") / "one.gpukit"
    assert run_here(*ranking(root, path))[0] == 0
    return RankSVM.load(path)


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["--ranks 3", "mpiexec"])
def test_the_model_of_one_process(root, tmp_path, reference, launcher):
    path = tmp_path / "many.gpukit"
    ranks, before = ([], mpiexec()) if launcher == "mpiexec" else (launcher.split(), ())
    code, out, err = command(*ranking(root, path), "--json", *ranks, before=before)
    assert code == 0, err
    assert json.loads(out)["folds"][0]["pairs"] == reference.n_pairs_
    np.testing.assert_allclose(RankSVM.load(path).coef_, reference.coef_, rtol=1e-10, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["--ranks 3", "mpiexec"])
def test_bad_data_are_reported_once(tmp_path, launcher):
    bad = tmp_path / "bad.txt"
    bad.write_text("1 qid:1 1:0.5\n0 qid:1 1:nothing\n")
    ranks, before = ([], mpiexec()) if launcher == "mpiexec" else (launcher.split(), ())
    code, out, err = command("ranksvm", bad, "--device", "cpu", *ranks, before=before)
    assert code == 2 and out == ""
    assert err.count("Error: ") == 1 and "'nothing'" in err and "Traceback" not in err


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("--ranks", "2", "--gpus", "2"), "exclude each other"),
        (("--gpus", "99"), "--gpus 99 was requested"),
        (("--ranks", "0"), "--ranks': 0 is not in the range x>=1"),
        (("--gpus", "all"), "--gpus': 'all' is no number from 1 on, nor auto"),
        (("--ranks", "1", "--gpus", "auto"), "exclude each other"),
        (("--ranks", "auto"), "'auto' is not a valid integer range"),
    ],
)
def test_bad_requests(root, arguments, message):
    code, out, err = run_here("ranksvm", root / "data/letor-sample", *arguments)
    assert code == 2 and out == "" and message in err and err.count("\n") == 1


def test_a_pipe_is_refused_for_several_ranks(root):
    code, _, err = run_here("ranksvm", "/dev/stdin", "--ranks", "2")
    assert code == 2 and "can be read once" in err and err.count("\n") == 1


@pytest.mark.slow
def test_auto_reports_its_choice_and_trains(root, tmp_path, reference, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    path = tmp_path / "one.gpukit"
    code, _, err = run_here(*ranking(root, path), "--gpus", "auto")
    assert code == 0 and err.startswith("--gpus auto: one process (")
    np.testing.assert_array_equal(RankSVM.load(path).coef_, reference.coef_)


@pytest.mark.slow
def test_ranks_of_mpiexec_do_not_start_ranks(root):
    code, out, err = command("ranksvm", root / "data/letor-sample", "--device", "cpu", "--ranks", 2, before=mpiexec())
    assert code == 2 and out == "" and err.count("Error: ") == 1
    assert "mpiexec or srun has started the ranks: leave --ranks 2" in err and "Traceback" not in err


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("train-lshmf", "-"),
        ("impute", "--tensor", "/dev/stdin", "--edges", "e.csv"),
        ("ranksvm", "a.txt", "--test", "-"),
    ],
    ids=str,
)
def test_standard_input_is_refused_where_mpiexec_starts_the_ranks(arguments):
    """Open MPI's standard input hangs once it has been read to its end."""
    code, out, err = command(*arguments, "--device", "cpu", before=mpiexec(), stdin="1,2,3\n4,5,6\n")
    assert code == 2 and out == ""
    assert err.count("Error: ") == 1 and "mpiexec does not hand standard input" in err and "Traceback" not in err


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("train-lshmf", "a.csv", "--resume", "--checkpoint", "none"),
        ("ranksvm", "none.txt"),
        ("impute", "--nearest", "0"),
    ],
    ids=str,
)
def test_invalid_requests_are_reported_once_under_mpiexec(tmp_path, monkeypatch, arguments):
    """All ranks validate them before they are connected."""
    monkeypatch.chdir(tmp_path)
    code, out, err = command(*arguments, "--device", "cpu", before=mpiexec())
    assert code == 2 and out == "" and err.count("Error: ") == 1 and "Traceback" not in err, err


def test_invalid_requests_of_one_rank(monkeypatch, capsys):
    """The rank waits for rank 0, which may report the same error, before it prints."""
    waited = []
    monkeypatch.setattr(teams.time, "sleep", waited.append)
    for rank, hushed, expected in ((0, [], []), (1, [True], []), (1, [], [REPORT_SECONDS])):
        monkeypatch.setattr(teams, "launched_ranks", lambda rank=rank: (2, rank))
        monkeypatch.setattr(teams, "hushed", hushed)
        waited.clear()
        assert main.run(["train-lshmf"]) == 2 and waited == expected
        assert "Missing argument" in capsys.readouterr().err


@pytest.mark.parametrize("words", [("convert", "a.csv", "b.gkr"), ("bench", "ranks"), ("doctor",)], ids=str)
def test_commands_without_support_of_ranks(tmp_path, monkeypatch, words):
    """Each rank would compute everything and write the same file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("1,2,3\n4,5,6\n")
    code, out, err = command(*words, before=mpiexec())
    assert code == 2 and out == "" and err.count("Error: ") == 1, err
    assert f"mpiexec or srun started 2 ranks, and {words[0]} runs in one process: start it once" in err
    assert os.listdir(tmp_path) == ["a.csv"]


@pytest.mark.slow
def test_independent_tasks(tmp_path, monkeypatch):
    """With GPUKIT_ALONE=1 each task runs its whole command, whether it supports ranks or not."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GPUKIT_ALONE", "1")
    for rank in range(2):
        (tmp_path / f"{rank}.csv").write_text("".join(f"{n % 9},{n % (7 + rank)},{n % 5 + 1}\n" for n in range(200)))
    gpukit = f"{sys.executable} -P -m gpukit"
    training = f"{gpukit} train-lshmf $R.gkr {FEW} --device cpu --model $R.gpukit -q"
    line = f"R=$OMPI_COMM_WORLD_RANK; {gpukit} convert $R.csv $R.gkr -q && {training}"
    result = subprocess.run([*mpiexec(), "sh", "-c", line], capture_output=True, text=True, timeout=300)
    assert result.returncode == 0 and result.stderr == "", result.stderr
    assert (tmp_path / "0.gpukit").exists() and (tmp_path / "1.gpukit").exists()


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["ranks", "mpiexec"])
def test_inputs_by_a_descriptor_of_the_shell(tmp_path, launcher):
    """Rank 0 inherits descriptors such as <(command). Inputs that every rank reads are refused with advice."""
    folder, before = tmp_path, mpiexec() if launcher == "mpiexec" else []
    (folder / "r.csv").write_text("".join(f"{n % 19},{n % 17},{n % 5 + 1}\n" for n in range(300)))
    (folder / "q.txt").write_text("".join(f"{n % 3} qid:{n // 9} 1:{n % 7} 2:{n % 4}\n" for n in range(90)))
    ranks = "--ranks 2" if launcher == "ranks" else ""
    lines = {
        f"ranksvm /dev/stdin --c 1 --device cpu -q {ranks} < q.txt": False,
        f"ranksvm /dev/fd/97 --c 1 --device cpu -q {ranks} 97< q.txt": False,
    }
    if launcher == "ranks":
        lines[f"train-lshmf /dev/fd/97 {FEW} --device cpu -q {ranks} 97< r.csv"] = True
    for line, works in lines.items():
        words = ["bash", "-c", f'"$@" {line}', "bash", *before, *GPUKIT]
        result = subprocess.run(words, capture_output=True, text=True, timeout=100, cwd=folder)
        errors = [text for text in result.stderr.splitlines() if text.startswith("Error: ")]
        assert (result.returncode == 0) == works and len(errors) == (not works), result.stderr
        if not works:
            standard = "/dev/stdin" in line and launcher == "mpiexec"
            message = "does not hand standard input on reliably (/dev/stdin)" if standard else "can be read once"
            assert result.returncode == 2 and message in errors[0]


@pytest.mark.slow
def test_help_is_printed_once():
    for words in (("--help",), ("recommend", "-qh"), ("--version",)):
        code, out, err = command(*words, before=mpiexec())
        assert (code, err) == (0, "") and out.count("Usage: " if words[0] != "--version" else "version") == 1


@pytest.mark.slow
def test_titles_are_read_by_rank_0(tmp_path):
    """It alone writes them, so they may come from a pipe."""
    table = np.array([(user, item, (user + item) % 5 + 1) for user in range(8) for item in range(user % 2, 6, 2)])
    MatrixFactorization(2, n_epochs=1, device="cpu").fit(tuple(table.T)).save(tmp_path / "m.gpukit")
    titles = "".join(f"{item}::Title {item}::Drama\n" for item in range(6))
    words = ("recommend", tmp_path / "m.gpukit", "--all", "--by", "rating", "--titles", "-", "--output")
    code, _, err = command(*words, tmp_path / "out.csv", "--ranks", 2, stdin=titles)
    assert code == 0 and "Error" not in err, err
    assert "Title" in (tmp_path / "out.csv").read_text()


@pytest.mark.slow
def test_ranks_that_read_different_filters(tmp_path):
    """Their lists would be inconsistent."""
    table = np.array([(user, item, (user + item) % 5 + 1) for user in range(8) for item in range(6)])
    MatrixFactorization(2, n_epochs=1, device="cpu").fit(tuple(table.T)).save(tmp_path / "m.gpukit")
    for rank in range(2):
        (tmp_path / f"{rank}").mkdir()
        (tmp_path / f"{rank}" / "only.txt").write_text(f"{rank}\n{rank + 2}\n")
    words = [*GPUKIT, "recommend", "../m.gpukit", "--all", "--only", "only.txt", "--output", "out.csv"]
    parts = [["-n", "1", "--wdir", str(tmp_path / f"{rank}"), *words] for rank in range(2)]
    before = mpiexec()[:-2]
    result = subprocess.run([*before, *parts[0], ":", *parts[1]], capture_output=True, text=True, timeout=100)
    assert result.returncode == 2 and "Error: Ranks read different files (../m.gpukit, only.txt)" in result.stderr
    assert not list(tmp_path.glob("*/out.csv"))


def test_commands_without_support_of_ranks_are_reported_by_rank_0(monkeypatch, capsys):
    """Rank 0 reports at once, others leave later without output. Help works on all ranks."""
    waited = []
    monkeypatch.setattr(main.time, "sleep", waited.append)
    for rank, lines, pause in ((0, 1, []), (1, 0, [REPORT_SECONDS])):
        monkeypatch.setattr(main, "launched_ranks", lambda rank=rank: (2, rank))
        waited.clear()
        assert main.run(["similar", "m.gpukit"]) == 2 and waited == pause
        assert capsys.readouterr().err.count("\n") == lines
        for words in (["--version"], ["--help"], ["similar", "--help"], ["bench", "ranks", "-h"]):
            assert main.run(words) == 0 and waited == pause
        capsys.readouterr()


def test_commands_with_ranks_run_as_a_team(root):
    for name, (_, module) in main.VERBS.items():
        text = (root / "cli" / (module.replace(".", "/") + ".py")).read_text()
        assert main.is_shared(main.gpukit.get_command(None, name)) == ("run_as_team(" in text), name


@pytest.mark.slow
def test_the_example_of_the_page(root, tmp_path, monkeypatch):
    """Three ranks of the example in docs/ranks.md have the model of one process."""
    lines = re.search(r"```python\n(.*?)```", (root / "docs/ranks.md").read_text(), re.S)[1]
    (tmp_path / "train.py").write_text(lines)
    rows = (root / "data/ratings-sample.csv").read_text().splitlines(keepends=True)
    (tmp_path / "ratings.csv").write_text("".join(rows[:6000]))
    monkeypatch.chdir(tmp_path)
    words = [*mpiexec()[:-1], "3", sys.executable, "train.py"]
    result = subprocess.run(words, capture_output=True, text=True, timeout=200)
    assert result.returncode == 0, result.stderr
    table = read_ratings("ratings.csv")
    reference = MatrixFactorization(device="cpu").fit(table)
    errors = [model.score(table) for model in (MatrixFactorization.load("my.gpukit"), reference)]
    np.testing.assert_allclose(*errors, rtol=0.05)


def children(number):
    """Return the child processes of a process."""
    return [int(text) for text in Path(f"/proc/{number}/task/{number}/children").read_text().split()]


def wait_for_ranks(process, count, seconds=60):
    """Return the ranks of a launched command once `count` have started."""
    start = time.monotonic()
    while len(ranks := children(process.pid)) < count:
        assert time.monotonic() - start < seconds and process.poll() is None
        time.sleep(0.01)
    return ranks


def wait_for_work(processes, seconds, patience=60):
    """Wait until each process has computed for `seconds`: it has reached the same step on a slower or busier machine.

    A command has read a small file after a second, or a little less, and computes.
    """
    start = time.monotonic()
    while min(map(work_of, processes)) < seconds:
        assert time.monotonic() - start < patience
        time.sleep(0.02)


def work_of(process):
    """Return the processor time of a running process, in seconds."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
@pytest.mark.parametrize("victim, after", [(0, 0.0), (1, 0.0), (1, 0.7), (0, 1.5)])
def test_a_killed_rank_ends_the_command(root, tmp_path, victim, after):
    """At any time: one line, exit code 1, no file and no process left, within 30 s."""
    arguments = ["ranksvm", str(root / "data/letor-sample"), "--device", "cpu", "--ranks", "2", "--quiet"]
    arguments += ["--c-grid", "2^-15:2^15:1.05", "--model", str(tmp_path / "m.gpukit")]
    process = subprocess.Popen([*GPUKIT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    ranks = wait_for_ranks(process, 2)
    time.sleep(after)
    start = time.monotonic()
    os.kill(ranks[victim], signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert time.monotonic() - start < 30
    assert process.returncode == 1 and err.count("\n") == 1, err
    seen = ("rank 0 was ended by signal 9",) if victim == 0 else ("Rank 1 has ended", "Another rank has ended")
    assert any(words in err for words in seen), err
    assert not any(Path(f"/proc/{rank}").exists() for rank in ranks)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_ctrl_c_reaches_all(root):
    arguments = ["ranksvm", str(root / "data/letor-sample"), "--device", "cpu", "--ranks", "2", "--quiet"]
    process = subprocess.Popen(
        [*GPUKIT, *arguments, "--c-grid", "2^-15:2^15:1.05"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    ranks = wait_for_ranks(process, 2)
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "Interrupted." in err and err.count("\n") == 1, err
    assert not any(Path(f"/proc/{rank}").exists() for rank in ranks)
