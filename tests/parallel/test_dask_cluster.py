"""Ranks on the workers of Dask clusters: answers of one process, faults, two jobs at once."""

import contextlib
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import distributed
import numpy as np
import pytest
from cli_support import heed_ctrl_c

from gpukit.cli import main
from gpukit.errors import ParameterError
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.graphs import synth_graph
from gpukit.imputation import GraphImputer
from gpukit.parallel import TeamError, dask_cluster
from gpukit.ranking import RankSVM
from gpukit.ratings import synth_ratings
from parallel.test_commands import GPUKIT, command, ranking, run_here, wait_for_work
from parallel.test_launch import JOIN, have_ended
from parallel.test_train_lshmf import STEPS

NUMBERS = "print(team.size, int(team.allreduce(np.array([team.rank]))[0]), flush=True); "
PIDS = "open(os.environ['GPUKIT_JOB'] + '.' + str(os.getpid()), 'w').close(); "


def test_the_module_does_not_load_numba():
    """A worker starts its rank with an environment that numba reads on import; the worker itself never needs it."""
    code = "import sys; from gpukit.parallel import dask_cluster; print('numba' in sys.modules, 'cupy' in sys.modules)"
    result = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert result.stdout == "False False\n", result.stderr


class Client:
    """A client that keeps what is submitted, and answers as workers would."""

    scheduler, loop, status = None, None, "running"

    def __init__(self, gpus):
        self.gpus, self.sent, self.cancelled = gpus, [], []

    def scheduler_info(self, n_workers):
        return {"workers": {f"tcp://h:{port}": {} for port in range(len(self.gpus))}}

    def submit(self, function, *arguments, **options):
        self.sent.append((function, arguments, options))
        rank = len(self.sent) - 1
        place = {"host": "h", "threads": 3, "gpus": self.gpus[rank % len(self.gpus)], "address": "h:1"}
        result = place if function is dask_cluster.describe_worker else (0, "out", "err")
        task = type("Task", (), {"status": "finished"})()
        task.result = lambda: result
        return task

    def gather(self, tasks):
        return [task.result() for task in tasks]

    def cancel(self, tasks):
        self.cancelled += tasks


def launch_alone(monkeypatch, client):
    monkeypatch.setattr(distributed, "Lock", lambda *_, **__: threading.Lock())
    return dask_cluster.launch(client, ["ranksvm", "a"])


def test_only_names_and_numbers_are_sent(monkeypatch):
    """Each function by its module, each task to one worker, where it runs once; nothing compiled."""
    client = Client([[], []])
    assert launch_alone(monkeypatch, client) == (0, "out", "err")
    for number, (function, arguments, options) in enumerate(client.sent):
        assert options.pop("workers") == [f"tcp://h:{number % 2}"]
        assert options == {"allow_other_workers": False, "retries": 0, "pure": False, "priority": dask_cluster.PRIORITY}
        data = pickle.dumps((function, arguments))
        assert b"numba" not in data and len(data) < 2000
        assert all(isinstance(word, (str, list, dict)) for word in arguments)
    assert [arguments[0]["GPUKIT_RANK"] for _, arguments, _ in client.sent[2:]] == ["0", "1"]
    assert {arguments[0]["GPUKIT_NUM_THREADS"] for _, arguments, _ in client.sent[2:]} == {"3"}
    assert len(client.cancelled) == 2


@pytest.mark.parametrize("fails", [False, True])
def test_the_cluster_is_held(monkeypatch, fails):
    """Before any task starts, until the job has ended: two jobs that each held half of it would wait for ever."""
    client, events = Client([[], [], []]), []

    class Lock:
        def __init__(self, name, **options):
            self.name = name

        def acquire(self):
            events.append(f"+{self.name}")

        def release(self):
            events.append(f"-{self.name}")

    def submit(function, *arguments, **options):
        events.append("task")
        if fails:
            raise KeyboardInterrupt
        return Client.submit(client, function, *arguments, **options)

    client.submit = submit
    monkeypatch.setattr(distributed, "Lock", Lock)
    with pytest.raises(KeyboardInterrupt) if fails else contextlib.nullcontext():
        dask_cluster.launch(client, [])
    tasks = ["task"] * (1 if fails else 6)
    assert events == ["+gpukit", *tasks, "-gpukit"]


@pytest.mark.parametrize(
    "gpus, expected",
    [
        ([["a", "b"], ["a", "b"]], ["a", "b"]),
        ([["a"], ["b"]], ["a", "b"]),
        ([["a"], ["a"]], ["", ""]),
        ([[], ["a"]], ["", ""]),
    ],
    ids=str,
)
def test_each_rank_has_a_gpu_of_its_own(monkeypatch, gpus, expected):
    client = Client(gpus)
    launch_alone(monkeypatch, client)
    assert [arguments[0]["CUDA_VISIBLE_DEVICES"] for _, arguments, _ in client.sent[2:]] == expected


def test_the_gpus_of_other_hosts_are_others():
    places = [{"host": host, "gpus": ["a"]} for host in "gh"]
    assert dask_cluster.assign_gpus(places) == ["a", "a"]


@pytest.mark.parametrize(
    "visible, expected", [(None, ["a", "b", "c"]), ("2,0", ["c", "a"]), ("GPU-x", ["GPU-x"]), ("", []), ("-1", [])]
)
def test_gpus_of_a_worker(monkeypatch, visible, expected):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    answer = type("Answer", (), {"stdout": "a\nb\nc\n"})
    monkeypatch.setattr(dask_cluster.subprocess, "run", lambda *_, **__: answer)
    assert dask_cluster.find_gpus() == expected


@pytest.mark.parametrize(
    "results, expected",
    [
        ([(0, "a", "b"), (0, "", "")], (0, "a", "b")),
        ([(2, "", "Error: no.\n"), (1, "", "")], (2, "", "Error: no.\n")),
        ([None, (1, "", "Error: Rank 0 has ended.\n")], (1, "", "Error: Rank 0 has ended.\n")),
        ([(0, "a", ""), None], "The Dask cluster has lost the worker w1"),
        ([None, None], "The Dask cluster has lost its scheduler"),
        ([(-9, "", ""), (0, "", "")], "has ended with code -9"),
    ],
    ids=str,
)
def test_one_result_for_all_ranks(results, expected):
    if isinstance(expected, tuple):
        assert dask_cluster.combine_results(results, ["w0", "w1"]) == expected
    else:
        with pytest.raises(TeamError, match=expected):
            dask_cluster.combine_results(results, ["w0", "w1"])


@pytest.mark.parametrize(
    "words, message",
    [
        (("--dask", "local", "--ranks", "2"), "leave --ranks and --gpus out"),
        (("--dask", "tcp://127.0.0.1:1"), "no scheduler answers there"),
    ],
)
def test_bad_requests(root, capsys, monkeypatch, words, message):
    client = distributed.Client
    monkeypatch.setattr(distributed, "Client", lambda *words, **options: client(*words, **{**options, "timeout": 0.2}))
    assert main.run(["ranksvm", str(root / "data/letor-sample"), *words]) == 2
    assert message in capsys.readouterr().err


def test_without_dask(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ParameterError, match=r"Install gpukit\[dask\]"):
        dask_cluster.run_command("local", [])


@pytest.fixture(scope="module")
def pair():
    """A cluster of two workers. Tests kill its ranks, not the workers."""
    with distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster:
        yield cluster


def run(cluster, *words):
    """Run a command on a cluster, from this process; check that it succeeds."""
    code, out, err = run_here(*words, "--dask", cluster.scheduler_address)
    assert code == 0, err
    return out


@pytest.mark.slow
def test_the_ranking_of_one_process(pair, root, tmp_path):
    path = tmp_path / "many.gpukit"
    run(pair, *ranking(root, path))
    assert run_here(*ranking(root, tmp_path / "one.gpukit"))[0] == 0
    reference = RankSVM.load(tmp_path / "one.gpukit")
    np.testing.assert_allclose(RankSVM.load(path).coef_, reference.coef_, rtol=1e-10, atol=1e-12)


@pytest.mark.slow
def test_the_tensor_of_one_process(pair, tmp_path):
    data = synth_graph("random", 60, (40, 30), 2, 0.2, entries=True, dtype="float64", noise=0.1)
    np.savez(tmp_path / "g.npz", tensor=data.tensor, mask=data.mask, adjacency=data.adjacency.toarray())
    words = ("--weights", "slice", "--center", "none", "--device", "cpu", "--dtype", "float64", "--iterations", 8)
    run(pair, "impute", tmp_path / "g.npz", *words, "--no-rank-phase", "--output", tmp_path / "full.npz")
    options = {"weights": "slice", "center": "none", "device": "cpu", "iterations": 8, "rank_phase": False}
    reference = GraphImputer(**options, dtype="float64").fit(data).completed_
    assert np.linalg.norm(np.load(tmp_path / "full.npz")["tensor"] - reference) <= 1e-10 * np.linalg.norm(reference)


@pytest.mark.slow
@pytest.mark.parametrize("words", [("--no-neighbors", "--deterministic"), ("--neighbors", 4)], ids=["model", "hashing"])
def test_the_factorization_of_one_process(pair, tmp_path, words):
    """To the bit: the deterministic model, and the neighbours of simLSH."""
    table = synth_ratings("ml-10m", 0.004, 1)
    columns = table.user_ids[table.users], table.item_ids[table.items], table.values
    np.savetxt(tmp_path / "r.csv", np.stack(columns, axis=1), "%g", delimiter=",")
    words = ("train-lshmf", tmp_path / "r.csv", "--factors", 6, "--epochs", 2, "--device", "cpu", *words, "--model")
    run(pair, *words, tmp_path / "many")
    assert run_here(*words, tmp_path / "one")[0] == 0
    kind, names = (MatrixFactorization, None) if "--deterministic" in words else (LSHMF, ["neighbors"])
    many, one = (kind.load(tmp_path / name)._state for name in ("many", "one"))
    for name in names or one._fields:
        np.testing.assert_array_equal(getattr(many, name), getattr(one, name), name)


@pytest.mark.slow
def test_the_exit_code_and_message_of_a_rank(pair, root, tmp_path):
    """Bad data are reported once, and the workers go on."""
    bad = tmp_path / "bad.txt"
    bad.write_text("1 qid:1 1:0.5\n0 qid:1 1:nothing\n")
    code, out, err = command("ranksvm", bad, "--device", "cpu", "--dask", pair.scheduler_address)
    assert code == 2 and out == "" and err.count("Error: ") == 1 and "'nothing'" in err and err.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize("name, code", [("train", 0), ("fail", 1)])
def test_a_function_of_a_user(pair, tmp_path, monkeypatch, name, code):
    """By its name, with names of files; its estimators take the team."""
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(
        "import numpy as np\nfrom gpukit import RankSVM\n\n"
        "def train(team, model, C):\n"
        "    rows = np.random.default_rng(1).normal(size=(60, 3))\n"
        "    found = RankSVM(C=C, device='cpu').fit(rows, rows[:, 0].round(), np.arange(60) // 6, team=team)\n"
        "    if team.rank == 0: found.save(model)\n    print(team.size)\n\n"
        "def fail(team, *words):\n    if team.rank == 1: raise ValueError('no such thing')\n    team.barrier()\n"
    )
    with distributed.Client(pair.scheduler_address, set_as_default=False) as client:
        result, out, err = dask_cluster.run(client, f"mine:{name}", "m.gpukit", 0.5)
    assert result == code and (out == "2\n" if name == "train" else "ValueError: no such thing" in err), err
    if name == "train":
        rows = np.random.default_rng(1).normal(size=(60, 3))
        one = RankSVM(C=0.5, device="cpu").fit(rows, rows[:, 0].round(), np.arange(60) // 6)
        np.testing.assert_allclose(RankSVM.load("m.gpukit").coef_, one.coef_, rtol=1e-10)


class Job:
    """Ranks of Python code on a cluster, started by a thread."""

    def __init__(self, cluster, code, folder):
        self.folder, self.outcome = folder, None
        self.client = distributed.Client(cluster.scheduler_address, set_as_default=False)
        before = (
            f"import os; os.chdir({str(folder)!r}); import gpukit.parallel.heartbeat as beat; beat.PATIENCE = 3.0; "
        )
        before += "from gpukit.cli import process; from gpukit import interrupt; interrupt.heed()\ntry:\n"
        after = "except Exception as error: print('Error:', error, file=sys.stderr); sys.exit(1)\n"
        body = "".join(f"    {line}\n" for line in ("import sys", JOIN + PIDS + code, "team.close()"))
        self.thread = threading.Thread(target=self._run, args=(before + body + after,))
        self.thread.start()

    def _run(self, code):
        try:
            self.outcome = dask_cluster.launch(self.client, [], code)
        except TeamError as error:
            self.outcome = str(error)

    def ranks(self, count=2):
        """Return the processes of ranks that have joined."""
        since = time.monotonic()
        while len(files := list(self.folder.iterdir())) < count:
            assert time.monotonic() - since < 60 and self.thread.is_alive(), self.outcome
            time.sleep(0.05)
        return [int(file.suffix[1:]) for file in files]

    def result(self, seconds=45):
        self.thread.join(seconds)
        assert not self.thread.is_alive()
        self.client.close()
        return self.outcome


SUMS = "[(team.allreduce(np.ones(2)), time.sleep(0.01)) for _ in range(6000)]"


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_lost_rank_ends_the_job_and_no_worker(pair, tmp_path, number):
    with distributed.Client(pair.scheduler_address, set_as_default=False) as client:
        before = sorted(client.scheduler_info(n_workers=-1)["workers"])
        job = Job(pair, SUMS, tmp_path)
        ranks = job.ranks()
        since = time.monotonic()
        os.kill(ranks[1], number)
        outcome = job.result()
        assert time.monotonic() - since < 30
        assert outcome[0] == 1 and outcome[2].count("Error: ") == 1, outcome
        assert ("has ended before" if number == signal.SIGKILL else "has been silent for 3 s") in outcome[2], outcome
        assert have_ended(ranks, 30)
        assert sorted(client.scheduler_info(n_workers=-1)["workers"]) == before
        assert client.submit(pow, 2, 3, workers=before[:1]).result(30) == 8


@pytest.mark.slow
def test_two_jobs_at_once(pair, tmp_path):
    """One after the other: each has all workers."""
    folders = [tmp_path / name for name in "ab"]
    for folder in folders:
        folder.mkdir()
    jobs = [Job(pair, NUMBERS + "team.barrier(); time.sleep(1)", folder) for folder in folders]
    assert [job.result(90) for job in jobs] == [(0, "2 1\n", "")] * 2


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["worker", "scheduler"])
def test_a_lost_worker_or_scheduler_ends_the_job(tmp_path, victim):
    code = "from distributed.cli.dask_{0} import main; main()"
    start = lambda kind, *words: subprocess.Popen(  # noqa: E731
        [sys.executable, "-c", code.format(kind), *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    file = str(tmp_path / "scheduler.json")
    (tmp_path / "ranks").mkdir()
    scheduler = start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", file)
    options = ("--scheduler-file", file, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1")
    workers = [start("worker", *options) for _ in range(2)]
    processes = [scheduler, *workers]
    try:
        since = time.monotonic()
        while not (os.path.exists(file) and os.path.getsize(file)):  # it is created before it is written
            assert time.monotonic() - since < 60
            time.sleep(0.1)
        address = json.loads(open(file).read())["address"]
        with distributed.Client(address, set_as_default=False, timeout=30) as client:
            client.wait_for_workers(2, 60)
        job = Job(type("Cluster", (), {"scheduler_address": address}), SUMS, tmp_path / "ranks")
        ranks = job.ranks()
        since = time.monotonic()
        processes[1 if victim == "worker" else 0].kill()
        outcome = job.result(40)
        assert time.monotonic() - since < 30
        text = outcome if isinstance(outcome, str) else outcome[2]
        assert text.count("Error: ") <= 1 and ("has lost" in text or "has ended before" in text), outcome
        assert have_ended(ranks, 30)
    finally:
        for process in processes:
            process.kill()
            process.wait()


def rank_says(ranks, text):
    """Return True if a rank has written a text to its stderr, a file without a name."""
    with contextlib.suppress(OSError):
        return any(text in Path(f"/proc/{rank}/fd/2").read_text() for rank in ranks)
    return False


@pytest.mark.slow
def test_ctrl_c_cancels(pair, tmp_path):
    """The ranks end as after Ctrl-C, with a checkpoint if they trained; the workers go on."""
    table = synth_ratings("ml-10m", 0.004, 1)
    columns = table.user_ids[table.users], table.item_ids[table.items], table.values
    np.savetxt(tmp_path / "r.csv", np.stack(columns, axis=1), "%g", delimiter=",")
    words = "train-lshmf r.csv --factors 6 --no-neighbors --epochs 1000000 --device cpu"
    words = [*GPUKIT, *words.split(), "--checkpoint", "ck", "--dask", pair.scheduler_address, *STEPS]
    workers = [worker.process.pid for worker in pair.workers.values()]
    for seconds in (1.5, 3, 6, 12):  # until training has started
        process = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True, preexec_fn=heed_ctrl_c)
        since, ranks = time.monotonic(), []
        while len(ranks) < 2 or not rank_says(ranks, "held out for testing"):
            assert time.monotonic() - since < 120 and process.poll() is None
            time.sleep(0.1)
            files = [file for worker in workers for file in Path(f"/proc/{worker}/task").glob("*/children")]
            ranks = [int(number) for file in files for number in file.read_text().split()]
        wait_for_work(ranks, seconds)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130 and err.count("Interrupted.") == 1 and "Traceback" not in err, err
        assert have_ended(ranks, 30) and not any(map(have_ended, [[worker] for worker in workers], [0, 0]))
        if (tmp_path / "ck").exists():
            break
    assert (tmp_path / "ck").exists()
