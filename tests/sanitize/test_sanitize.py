"""The driver of compute-sanitizer: cases exist, output is read correctly, completed runs are not repeated."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sanitize import campaign, cases, child, choose, report
from sanitize.campaign import Campaign, Outcome, Run
from sanitize.kernels import ROOT, kernels, uses_shared_memory

TRIAL = "device.kernels.number_threads"
MEMCHECK = """
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at gpukit::sorting::kernels::first_nan[abi:v1][abi:cw51](Array<float, (int)1, C, mutable>)+0x90
=========     by thread (0,0,0) in block (0,0,0)
=========     Access at 0x7f1a2ac00092 is out of bounds
=========
========= Invalid __shared__ read of size 8 bytes
=========     at _ZN6gpukit13factorization7solvers3sgd7kernels14make_sgd_epoch12_3clocals_3e9sgd_epochB2v7B152cw5+0x1f0
=========     by thread (1,0,0) in block (0,0,0)
1 passed in 3.27s
========= ERROR SUMMARY: 2 errors
"""
RACECHECK = """
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at gpukit::primitives::group::kernels::scan_digits[abi:v2]()+0x80
=========     and Read access at gpukit::primitives::group::kernels::scan_digits[abi:v2]()+0xb0 [480 hazards]
=========
1 passed in 3.27s
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""
CLEAN = "1 passed in 3.27s\n========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"


def test_cases_are_fast_tests_of_kernels():
    """pytest finds each by its name; the simulator tier checks that it launches the kernel."""
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-m", "pytest", "-m", "kernel and fast", "--collect-only", "-p", "no:cacheprovider"]
    tests = [f"tests/{test}" for test in cases.STANDS_FOR]
    done = subprocess.run([*command, *tests], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    found = {line for line in done.stdout.splitlines() if "::" in line}
    assert found == set(tests)


def test_shared_memory_is_seen_in_the_source():
    shared = {name for name, node in kernels().items() if uses_shared_memory(node)}
    assert {"sorting.kernels.argsort_segments", "selection.kernels.select_smallest"} <= shared
    assert not {"sorting.kernels.first_nan", "factorization.solvers.sgd.kernels.sgd_epoch"} & shared


def test_findings_have_a_kernel():
    first, second = report.findings(MEMCHECK, kernels())
    assert first == ("sorting.kernels.first_nan", "Invalid __global__ write of size 4 bytes")
    assert second == ("factorization.solvers.sgd.kernels.sgd_epoch", "Invalid __shared__ read of size 8 bytes")
    (race,) = report.findings(RACECHECK, kernels())
    assert race.kernel == "primitives.group.kernels.scan_digits" and race.what.startswith("Error: Race reported")
    elsewhere = MEMCHECK.replace("gpukit::sorting", "other::sorting")
    assert [kernel for kernel, _ in report.findings(elsewhere, kernels())] == ["", second.kernel]
    assert report.findings(CLEAN, kernels()) == [] and report.counted(CLEAN) == 0
    assert report.findings(CLEAN.replace("0 errors", "3 errors"), kernels())[0].what.startswith("3 errors")


def test_what_pytest_underlines_is_no_finding():
    text = f"{'=' * 30} FAILURES {'=' * 30}\n========= 1 failed =========\n{CLEAN}"
    assert report.findings(text, kernels()) == [] and not report.passed(text.replace("1 passed", "1 failed"))


def test_the_compilers_own_spelling_of_every_kernel():
    from compile.cases import CASES
    from numba.cuda import itanium_mangler

    for function in {case.kernel.py_func for case in CASES}:
        name = f"{function.__module__.removeprefix('gpukit.')}.{function.__name__}"
        linked = itanium_mangler.mangle(f"{function.__module__}.{function.__qualname__}", (), abi_tags=("v12",), uid=7)
        text = f"========= Invalid read\n=========     at {linked}+0x10\n"
        assert report.findings(text, kernels()) == [(name, "Invalid read")], linked


@pytest.mark.parametrize(
    "ended, text, verdict",
    [
        (True, CLEAN, "clean"),
        (True, MEMCHECK, "found"),
        (True, MEMCHECK.replace("1 passed", "1 failed"), "found"),
        (True, CLEAN.replace("1 passed", "1 failed"), "failed"),
        (True, CLEAN.replace("1 passed", "1 deselected"), "failed"),
        (True, "1 passed in 3 s\n", "failed"),  # the tool wrote nothing
        (False, "========= COMPUTE-SANITIZER\n", "too long"),
        (False, MEMCHECK, "found"),
    ],
)
def test_verdicts(ended, text, verdict):
    assert campaign.judged("memcheck", ended, text, 1.0).verdict == verdict


def test_a_finding_that_is_meant_is_none(monkeypatch):
    monkeypatch.setattr(cases, "EXCEPTED", {("racecheck", "primitives.group.kernels.scan_digits"): "meant"})
    assert campaign.judged("racecheck", True, RACECHECK, 1.0).verdict == "clean"
    assert campaign.judged("memcheck", True, RACECHECK, 1.0).verdict == "found"


def test_parts_are_all_and_none_twice():
    whole = campaign.planned("memcheck")
    parts = [run for number in (1, 2, 3) for run in campaign.planned("memcheck", (number, 3))]
    assert sorted(parts) == sorted(whole) and len(set(whole)) == len(whole) == len(cases.STANDS_FOR)
    races = campaign.planned("racecheck")
    assert 0 < len(races) < len(whole)
    assert [run.test for run in campaign.planned("memcheck", only=TRIAL)] == [cases.CASES[TRIAL]]


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Return make() -> (a Campaign with its own files, the tests run under a tool).

    make.says[test] is its result; the default is a clean run.
    """
    says, run = {}, []

    def sanitized(tool, test, limit):
        run.append(test)
        return says.get(test, (True, CLEAN))

    monkeypatch.setattr(child, "sanitized", sanitized)

    def make():
        run.clear()
        return Campaign(tmp_path / "done.jsonl", tmp_path / "logs", 9, lambda line: None), run

    make.says, make.file = says, tmp_path / "done.jsonl"
    return make


RUNS = [Run("memcheck", f"a.py::test_{number}") for number in range(5)]


def test_what_is_done_is_not_done_again(made):
    first, run = made()
    first.run(RUNS[:3], 2)
    assert sorted(run) == [r.test for r in RUNS[:3]]
    with made.file.open("a") as file:
        file.write('\n[["memcheck", "a.py::te')  # killed during a write
    again, run = made()
    assert again.left(RUNS) == RUNS[3:]
    again.run(RUNS, 2)
    assert sorted(run) == [r.test for r in RUNS[3:]]
    assert again.left([Run("racecheck", RUNS[0].test)]) == [Run("racecheck", RUNS[0].test)], "of another tool"


def test_a_line_cut_short_spoils_none_after_it(made):
    made()[0].run(RUNS[:1], 1)
    with made.file.open("a") as file:
        file.write('\n[["memcheck", "a.py::te')
    made()[0].run(RUNS, 1)
    assert made()[0].left(RUNS) == []


def test_other_code_begins_anew(made, monkeypatch):
    made()[0].run(RUNS, 2)
    monkeypatch.setattr(campaign, "code", lambda: "code 0")
    assert made()[0].left(RUNS) == RUNS


def test_what_is_found_is_kept_and_what_took_too_long_is_tried_again(made):
    made.says.update({RUNS[0].test: (True, MEMCHECK), RUNS[1].test: (False, "")})
    first, _ = made()
    first.run(RUNS, 2)
    assert [first.done[run].verdict for run in RUNS] == ["found", "too long", "clean", "clean", "clean"]
    assert "Invalid __global__ write" in first.log(RUNS[0]).read_text()
    again, _ = made()
    assert again.left(RUNS) == [RUNS[1]]
    assert again.done[RUNS[0]] == Outcome("found", first.done[RUNS[0]].findings, first.done[RUNS[0]].seconds)


def test_nothing_is_begun_after_the_seconds(made):
    first, run = made()
    first.run(RUNS, 1, seconds=-1)
    assert run == [] and first.left(RUNS) == RUNS


def test_the_quickest_test_is_chosen():
    notes = [("a.py::test_1", 2.0, ["x", "y"]), ("a.py::test_2", 1.0, ["y"]), ("a.py::test_3", 3.0, ["y"])]
    assert choose.quickest(notes) == {"x": "a.py::test_1", "y": "a.py::test_2"}


FAKE = """#!/bin/sh
# compute-sanitizer, as far as it matters: runs the program, says what $FAKE_FOUND says of planted faults
echo "========= COMPUTE-SANITIZER"
case "$*" in *planted*) echo "$FAKE_FOUND";; esac
while [ "$1" != "$PYTHON" ]; do shift; done
"$@"
echo "========= ERROR SUMMARY: 0 errors"
"""


def command(folder, *options, found="========= Invalid write"):
    """python -m sanitize in the simulator, with a fake compute-sanitizer that reports `found`."""
    if found is not None:
        tool = folder / child.SANITIZER
        tool.write_text(FAKE)
        tool.chmod(0o755)
    environment = {
        **os.environ,
        **choose.SIMULATOR,
        "PATH": f"{folder}:/usr/bin:/bin",
        "PYTHON": sys.executable,
        "FAKE_FOUND": found or "",
    }
    files = ["--resume", str(folder / "done.jsonl"), "--logs", str(folder / "logs"), "--jobs", "2"]
    return subprocess.run(
        [sys.executable, "-m", "sanitize", *files, *options], cwd=ROOT, env=environment, capture_output=True, text=True
    )


@pytest.mark.slow
def test_the_command(tmp_path):
    """A one-line kernel, from its name to the summary; the second time nothing runs."""
    first = command(tmp_path, "--only", TRIAL)
    assert first.returncode == 0 and "1 of 1 tests are done: 1 clean." in first.stdout, first.stdout + first.stderr
    log = next(Path(tmp_path / "logs").glob("memcheck-*.txt"))
    assert log.exists() and len((tmp_path / "done.jsonl").read_text().splitlines()) == 2
    assert json.loads((tmp_path / "done.jsonl").read_text().splitlines()[1])[0] == ["memcheck", cases.CASES[TRIAL]]
    (tmp_path / child.SANITIZER).write_text("#!/bin/sh\nexit 1\n")
    second = command(tmp_path, "--only", TRIAL, found=None)
    assert second.returncode == 0 and second.stdout.count("\n") == 1


@pytest.mark.slow
def test_a_tool_that_sees_nothing_is_not_believed(tmp_path):
    done = command(tmp_path, "--only", TRIAL, found="")
    assert done.returncode == 2 and "does not see the fault of sanitize/planted.py" in done.stdout


def test_no_tool_and_no_part(tmp_path):
    done = command(tmp_path, found=None)
    assert done.returncode == 2 and "compute-sanitizer is not on PATH" in done.stdout
    done = command(tmp_path, "--part", "3/2")
    assert done.returncode == 2 and "'3/2' is not a part such as 1/4" in done.stderr
