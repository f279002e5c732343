"""Who compiles what: helpers begin with the last function, and the caller waits for what they are compiling."""

import subprocess
import sys
import threading

import pytest

from gpukit.compilation import helpers
from gpukit.compilation.helpers import Helpers
from gpukit.compilation.signatures import Task

TASKS = [Task("m", name, "int64") for name in "abcd"]
HOLD = "import sys, time\nprint(flush=True)\nfor line in sys.stdin: time.sleep(600)"


@pytest.fixture
def running(monkeypatch):
    """A function that makes Helpers whose processes run a program."""
    made = []

    def make(program, tasks, count=1):
        monkeypatch.setattr(helpers, "COMMAND", (sys.executable, "-c", program))
        made.append(Helpers(tasks, count))
        return made[-1]

    yield make
    for one in made:
        one.stop()


def wait_for_start(running):
    with running.changed:
        assert running.changed.wait_for(lambda: running.busy.total(), 60)


@pytest.mark.parametrize("count", [1, 3])
def test_all_is_compiled_once(running, count, tmp_path):
    program = (
        "import sys\nprint(flush=True)\n"
        f"for line in sys.stdin:\n    open({str(tmp_path / 'all')!r}, 'a').write(line)\n    print(flush=True)"
    )
    found = running(program, TASKS, count)
    found.join()
    found.add([Task("m", "e", "int64,int64")])
    found.join()
    lines = (tmp_path / "all").read_text().splitlines()
    assert sorted(lines) == ["m a int64", "m b int64", "m c int64", "m d int64", "m e int64,int64"]
    assert count > 1 or lines[0] == "m d int64"


def test_what_the_caller_claims_is_left_to_it(running):
    found = running(HOLD, TASKS)
    wait_for_start(found)
    found.claim(("m", "a"))
    found.claim(("m", "unknown"))
    assert [task.name for task in found.left] == ["b", "c"]


def test_the_caller_waits_for_what_is_being_compiled(running):
    found = running(HOLD, TASKS)
    wait_for_start(found)
    claim = threading.Thread(target=found.claim, args=(("m", "d"),), daemon=True)
    claim.start()
    claim.join(0.3)
    assert claim.is_alive()
    found.processes[0].kill()
    claim.join(60)
    assert not claim.is_alive()


@pytest.mark.parametrize("program", ["pass", "raise SystemExit(1)", "import os; os.kill(os.getpid(), 9)"])
def test_processes_that_end_keep_nobody_waiting(running, program):
    found = running(program, TASKS, 2)
    for task in TASKS:
        found.claim(task.function)
    found.join()
    assert not found.busy.total()


def test_a_program_that_is_not_there_keeps_nobody_waiting(monkeypatch):
    monkeypatch.setattr(helpers, "COMMAND", ("/not/there",))
    found = Helpers(TASKS, 2)
    found.join()
    found.claim(TASKS[0].function)


def test_the_worker_compiles_what_it_can_and_answers_each_line():
    lines = b"gpukit.nowhere x int64\ngpukit.random key int64\nnot a line at all\n"
    done = subprocess.run(helpers.COMMAND, input=lines, capture_output=True, timeout=300)
    assert done.returncode == 0 and done.stdout == b"\n\n\n\n" and not done.stderr


def test_only_what_is_missing_is_compiled(tmp_path, monkeypatch):
    tasks = helpers.tasks_of("ratings")
    monkeypatch.setattr(helpers._jit, "cache_folder", lambda: tmp_path)
    assert helpers.missing("ratings") == tasks
    common = helpers.missing("ratings", "clicks")
    assert set(common) == set(tasks) & set(helpers.tasks_of("clicks")) and 5 < len(common) < len(tasks)
    for task in tasks[: len(tasks) // 2 - 1]:
        (tmp_path / f"{'.'.join(task.function)}-stamp-types.nbc").touch()
    assert set(helpers.missing("ratings")) <= set(tasks[len(tasks) // 2 - 1 :])
    for task in tasks[len(tasks) // 2 - 1 :][:3]:
        (tmp_path / f"{'.'.join(task.function)}-stamp-types.nbc").touch()
    assert helpers.missing("ratings") == [] and helpers.missing("nothing") == []
