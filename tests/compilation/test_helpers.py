"""Who compiles what: helpers begin with the last function, and the caller waits for what they are compiling."""

import errno
import os
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import numba
import numpy as np
import pytest

from gpukit.compilation import helpers, signatures
from gpukit.compilation.helpers import Helpers
from gpukit.compilation.signatures import Task
from gpukit.errors import GpukitError
from gpukit.sorting.kernels import make_argsort

TASKS = [Task("m", name, "int64") for name in "abcd"]
HOLD = "import sys, time\nprint(flush=True)\nfor line in sys.stdin: time.sleep(600)"


def writer_of(path):
    """Return a program that appends the lines of its Tasks to a file."""
    each = f"open({str(path)!r}, 'a').write(line); print(flush=True)"
    return f"import sys\nprint(flush=True)\nfor line in sys.stdin: {each}"


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


def wait_until(is_true):
    """Return once a condition holds; AssertionError after a minute."""
    late = time.monotonic() + 60
    while not is_true():
        assert time.monotonic() < late
        time.sleep(0.01)


def wait_for_end(found):
    wait_until(lambda: not (found.left and found.running) and not found.busy.total())


@pytest.mark.parametrize("count", [1, 3])
def test_all_is_compiled_once(running, count, tmp_path):
    found = running(writer_of(tmp_path / "all"), TASKS, count)
    wait_for_end(found)
    found.add([Task("m", "e", "int64,int64")])
    wait_for_end(found)
    lines = (tmp_path / "all").read_text().splitlines()
    assert sorted(lines) == ["m a int64", "m b int64", "m c int64", "m d int64", "m e int64,int64"]
    assert count > 1 or lines[0] == "m d int64"


def test_what_the_caller_claims_is_left_to_it(running):
    found = running(HOLD, TASKS)
    wait_until(found.busy.total)
    found.claim(("m", "a"))
    found.claim(("m", "unknown"))
    assert [task.name for task in found.left] == ["b", "c"]


def test_the_caller_waits_for_what_is_being_compiled(running):
    found = running(HOLD, TASKS)
    wait_until(found.busy.total)
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
    wait_for_end(found)


def test_a_program_that_is_not_there_keeps_nobody_waiting(monkeypatch):
    monkeypatch.setattr(helpers, "COMMAND", ("/not/there",))
    found = Helpers(TASKS, 2)
    wait_for_end(found)
    found.claim(TASKS[0].function)


def test_the_worker_compiles_what_it_can_and_answers_each_line():
    lines = b"gpukit.nowhere x int64\ngpukit.random key int64\nnot a line at all\n"
    done = subprocess.run(helpers.COMMAND, input=lines, capture_output=True, timeout=300)
    assert done.returncode == 0 and done.stdout == b"\n\n\n\n" and not done.stderr


def test_progress_counts_what_is_done_and_what_is_claimed(running):
    found = running(HOLD, TASKS, 1)
    wait_until(found.busy.total)
    assert found.progress() == (0, 4)
    found.claim(("m", "a"))
    assert found.progress() == (1, 4)
    found.add(TASKS[1:3] + [Task("m", "e", "int64"), Task("m", "b", "int32")])
    assert found.progress() == (1, 6)
    found.claim(("m", "b"))
    assert found.progress() == (3, 6)
    assert Helpers(TASKS, 0, 9).progress() == (0, 9)


def test_the_caller_reports_that_it_waits(running, monkeypatch):
    announced = []
    monkeypatch.setattr(helpers.timing, "listener", announced.append)
    found = running(HOLD, TASKS)
    wait_until(found.busy.total)
    found.claim(("m", "a"))
    assert announced == []
    claim = threading.Thread(target=found.claim, args=(("m", "d"),), daemon=True)
    claim.start()
    wait_until(lambda: announced == ["d"])
    found.processes[0].kill()
    claim.join(60)


@pytest.fixture
def own_cache(monkeypatch, tmp_path):
    """A cache of its own for this process and others, and a list of two short functions as the job `short`."""
    monkeypatch.setenv("GPUKIT_CACHE", str(tmp_path / "cache"))
    lines = tmp_path / "lines.txt"
    lines.write_text("short gpukit.random key int64,int64\nshort gpukit.random bits uint32,int64\n")
    monkeypatch.setattr(helpers, "FILE", lines)
    monkeypatch.setattr(signatures, "FILE", lines)
    return lines


@pytest.mark.slow
def test_jobs_are_compiled_once(own_cache):
    seen = []
    assert [task.name for task in signatures.missing_tasks("short")] == ["key", "bits"]
    assert helpers.compile_jobs(["short"], 2, lambda *numbers: seen.append(numbers)) == (2, 2)
    assert seen[0] == (0, 2) and seen == sorted(seen)
    assert not signatures.missing_tasks("short") and not helpers.begin("short")
    assert helpers.compile_jobs(["short"], 2, lambda *numbers: None) == (0, 2)


KERNEL = Task("gpukit.device.kernels", "number_threads", "int32[1C]")


def test_a_kernel_is_sent_with_the_gpu_that_it_is_for(running, tmp_path):
    found = running(writer_of(tmp_path / "all"), [])
    found.add([KERNEL, TASKS[0]], (9, 0))
    wait_for_end(found)
    lines = (tmp_path / "all").read_text().splitlines()
    assert lines == ["m a int64", "gpukit.device.kernels number_threads int32[1C] 9.0"]


@pytest.mark.slow
def test_kernels_are_compiled_without_a_gpu(own_cache):
    own_cache.write_text(
        own_cache.read_text().replace("short gpukit.random bits uint32,int64", f"short-gpu {' '.join(KERNEL)}")
    )
    assert helpers.compile_jobs(["short", "short-gpu"], 1, lambda *numbers: None) == (1, 1)
    assert helpers.compile_jobs(["short", "short-gpu"], 1, lambda *numbers: None, [(8, 0), (9, 0)]) == (2, 3)
    assert not KERNEL.is_missing((8, 0)) and not KERNEL.is_missing((9, 0)) and KERNEL.is_missing((12, 0))
    assert not helpers.begin("short-gpu", capability=(9, 0))


@pytest.mark.parametrize("program", ["pass", "import sys\nprint(flush=True)\nfor line in sys.stdin: print(flush=True)"])
def test_functions_that_were_not_compiled_are_an_error(own_cache, monkeypatch, program):
    monkeypatch.setattr(helpers, "COMMAND", (sys.executable, "-c", program))
    with pytest.raises(GpukitError, match=r"^2 of 2 functions could not be compiled, among them gpukit.random.key\. "):
        helpers.compile_jobs(["short"], 2, lambda *numbers: None)


def test_a_cache_that_cannot_be_written_is_an_error(own_cache, tmp_path):
    (tmp_path / "cache").touch()
    with pytest.raises(GpukitError, match=r"cannot be written to .*/cache/code/.*Not a directory\)\. Set GPUKIT_CACHE"):
        helpers.compile_jobs(["short"], 2, lambda *numbers: None)


def test_a_read_only_cache_is_an_error(own_cache, monkeypatch):
    def refuse(dir):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(helpers.tempfile, "TemporaryFile", refuse)
    with pytest.raises(GpukitError, match=r"cannot be written to .* \(Read-only file system\)\. Set GPUKIT_CACHE"):
        helpers.compile_jobs(["short"], 2, lambda *numbers: None)


@pytest.fixture
def begun(monkeypatch, tmp_path):
    """A cache of its own, and the Tasks of the helpers that are made: [(names, count)]."""
    made = []

    class Recorded:
        def __init__(self, tasks, count, expected, capability):
            assert expected >= len(tasks)
            made.append((list(tasks), count))
            self.capability = capability

        def add(self, tasks, capability):
            made.append((list(tasks), None))
            self.capability = capability

        def stop(self):
            pass

    monkeypatch.setattr(helpers, "Helpers", Recorded)
    monkeypatch.setattr(helpers, "cores", lambda: 3)
    monkeypatch.setattr(helpers, "missing_tasks", lambda job, capability: helpers.tasks_of(job))
    monkeypatch.setattr(helpers._jit, "helpers", None)
    monkeypatch.setattr(helpers._jit, "cache_folder", lambda: tmp_path / "code")
    return made


def test_what_jobs_share_comes_first_and_each_job_is_begun_once(begun):
    ratings, clicks = helpers.tasks_of("ratings"), helpers.tasks_of("clicks")
    assert helpers.begin("ratings", "clicks") == max(len(ratings), len(clicks))
    assert helpers.begin("clicks") == len(clicks)
    shared = [task for task in ratings if task in clicks]
    assert begun == [(shared, 2), (clicks, None)] and 5 < len(shared) < len(ratings)
    assert not helpers.begin("clicks") and not helpers.begin("ratings", "clicks") and len(begun) == 2
    assert helpers.begin("ratings") and begun[2] == (ratings, None)


def test_ranks_and_single_cores_start_no_processes(begun, monkeypatch):
    ratings, clicks = helpers.tasks_of("ratings"), helpers.tasks_of("clicks")
    assert helpers.begin("ratings", alone=False) and begun == [(ratings, 0)] and not helpers.begin("ratings")
    monkeypatch.setattr(helpers, "cores", lambda: 1)
    monkeypatch.setattr(helpers._jit, "helpers", None)
    assert helpers.begin("clicks") and begun[1:] == [(clicks, 0)]


def test_what_is_in_the_cache_is_not_compiled(begun, monkeypatch):
    monkeypatch.setattr(helpers, "missing_tasks", lambda job, capability: [])
    assert helpers.begin("ratings") == 0 and not begun
    assert [file.name.partition("-")[0] for file in helpers._jit.cache_folder().iterdir()] == ["ratings"]
    monkeypatch.setattr(helpers, "missing_tasks", lambda job, capability: helpers.tasks_of(job)[:3])
    assert helpers.begin("clicks") == 3 and begun == [(helpers.tasks_of("clicks")[:3], 2)]


def test_another_processor_is_another_first_run(begun, monkeypatch):
    assert not helpers.is_of_other_processor("ratings") and helpers.begin("ratings")
    assert not helpers.is_of_other_processor("ratings") and not helpers.begin("ratings")
    monkeypatch.setattr(numba.config, "CPU_NAME", "generic")
    assert helpers.is_of_other_processor("ratings") and not helpers.is_of_other_processor("clicks")
    assert helpers.begin("ratings") and not helpers.is_of_other_processor("ratings")


def test_another_gpu_is_another_first_run(begun):
    assert helpers.begin("ratings-gpu", capability=(9, 0)) and helpers._jit.helpers.capability == (9, 0)
    assert not helpers.begin("ratings-gpu", capability=(9, 0))
    assert helpers.is_of_other_processor("ratings-gpu", (8, 0)) and helpers.begin("ratings-gpu", capability=(8, 0))
    assert helpers._jit.helpers.capability == (8, 0)


def test_other_lines_are_another_first_run(begun, monkeypatch, tmp_path):
    assert helpers.begin("ratings") and not helpers.begin("ratings")
    (tmp_path / "lines.txt").write_text("ratings gpukit.random key int64\n")
    monkeypatch.setattr(helpers, "FILE", tmp_path / "lines.txt")
    assert helpers.begin("ratings")


def test_another_version_is_another_first_run(begun, monkeypatch):
    assert helpers.begin("ratings") and not helpers.begin("ratings")
    monkeypatch.setattr(helpers, "__version__", "9.9")
    assert helpers.begin("ratings") and not helpers.is_of_other_processor("clicks")


def test_without_a_cache_nothing_is_begun(begun, tmp_path):
    (tmp_path / "code").touch()
    assert not helpers.begin("ratings") and not helpers.begin("ratings", "clicks") and not begun


def test_a_function_is_claimed_before_it_is_compiled(monkeypatch):
    claimed = []

    class Recorded:
        def claim(self, function):
            claimed.append((function, len(double.overloads)))

    @helpers._jit.njit
    def double(x):
        return 2 * x

    monkeypatch.setattr(helpers._jit, "helpers", Recorded())
    assert double(3) == 6 and double(4) == 8
    name = "test_a_function_is_claimed_before_it_is_compiled.<locals>.double"
    assert claimed == [((__name__, name), 0)]


@pytest.mark.gpu
def test_a_kernel_for_this_gpu_is_found_by_it(own_cache):
    from gpukit._cuda import cuda

    own_cache.write_text(f"short-gpu {' '.join(KERNEL)}\n")
    assert KERNEL.is_missing()
    capability = tuple(cuda.get_current_device().compute_capability)
    assert helpers.compile_jobs(["short-gpu"], 1, lambda *numbers: None, [capability]) == (1, 1)
    assert not KERNEL.is_missing()
    kernel, out = KERNEL.dispatcher, cuda.to_device(np.full(32, -1, np.int32))
    kernel.overloads.clear()
    hits = kernel._cache_hits.total()
    kernel[1, 32](out)
    assert out.copy_to_host().tolist() == list(range(32)) and kernel._cache_hits.total() == hits + 1


@pytest.mark.parametrize(
    "kernel, name", [(KERNEL.dispatcher, "number_threads"), (make_argsort(True, 128, False), None)]
)
def test_a_kernel_is_claimed_before_it_is_compiled(monkeypatch, kernel, name):
    claimed = []
    monkeypatch.setattr(helpers._jit, "helpers", SimpleNamespace(claim=claimed.append))
    monkeypatch.setattr("numba.cuda.dispatcher.CUDADispatcher.compile", lambda self, types: list(claimed))
    assert kernel.compile(()) == claimed == [(kernel.py_func.__module__, name or "make_argsort(True,128,False)")]
