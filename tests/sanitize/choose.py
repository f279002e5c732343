"""Proposed lines for cases.py: for each kernel without a case, the fastest test that launches it.

Tests run in the simulator. pytest loads this file as a plugin, which records each test's launches and time.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from sanitize.kernels import ROOT, kernels
from sanitize.launched import launches

NOTES = "GPUKIT_SANITIZE_NOTES"  # the file of the records
SIMULATOR = {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT / "tests")}


def main(tests):
    """Run tests (as pytest names them) and print the lines; exit code 1 if a kernel still has none."""
    from sanitize.cases import CASES

    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / "notes"
        notes.touch()
        command = [sys.executable, "-m", "pytest", "-m", "kernel", "-q", "-p", "sanitize.choose", *tests]
        subprocess.run(command, cwd=ROOT, env={**os.environ, **SIMULATOR, NOTES: str(notes)})
        chosen = quickest(map(json.loads, notes.read_text().splitlines()))
    missing = [name for name in kernels() if name not in CASES]
    print(*(f'    "{name}": "{chosen[name]}",' for name in missing if name in chosen), sep="\n")
    if lacking := [name for name in missing if name not in chosen]:
        print(f"    # launched by none of these tests: {', '.join(lacking)}")
    return int(bool(lacking))


def quickest(notes):
    """Return {kernel: test} of [(test, seconds, kernels)]."""
    best = {}
    for test, seconds, names in notes:
        for name in names:
            best[name] = min(best.get(name, (seconds, test)), (seconds, test))
    return {name: test for name, (_, test) in best.items()}


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    """Record a test's kernels if requested."""
    begun = time.monotonic()
    with launches() as names:
        yield
    with open(os.environ[NOTES], "a") as file:
        note = item.nodeid.removeprefix("tests/"), time.monotonic() - begun, sorted(names)
        file.write(json.dumps(note) + "\n")
