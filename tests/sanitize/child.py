"""A test in a separate process, under compute-sanitizer or without, and the changes to gpukit in such a process.

pytest loads this file there as a plugin.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from sanitize.kernels import ROOT

SANITIZER = "compute-sanitizer"
OPTIONS = {
    "memcheck": ["--padding", "32"],  # unused bytes after each array
    "racecheck": [],
    "initcheck": [],
    "synccheck": [],
}
ALWAYS = ["--target-processes", "all", "--report-api-errors", "no", "--show-backtrace", "no"]
PYTEST = ["-m", "pytest", "-m", "kernel", "-p", "no:cacheprovider", "-p", "sanitize.child"]


def sanitized(tool, test, limit):
    """Return (True if it ended in time, output) of one test under a tool."""
    command = [SANITIZER, "--tool", tool, *OPTIONS[tool], *ALWAYS, sys.executable, *PYTEST, f"tests/{test}"]
    return _ended(command, limit)


def warm(tests, jobs, limit):
    """Run tests in parallel processes to compile and cache their kernels; return the output of failed ones."""
    commands = [[sys.executable, *PYTEST, *(f"tests/{test}" for test in tests[job::jobs])] for job in range(jobs)]
    with ThreadPoolExecutor(jobs) as pool:
        ends = pool.map(lambda command: _ended(command, limit), [c for c in commands if c[-1] != PYTEST[-1]])
        return [text for ended, text in ends if not ended or "passed" not in text or "failed" in text]


def _ended(command, limit):
    """Return (True if a command ended in time, its output and errors)."""
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": _search_path()},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        errors="replace",
        start_new_session=True,  # the tool's own children end with it
    )
    try:
        return True, process.communicate(timeout=limit)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        return False, process.communicate()[0]


def _search_path():
    """Return PYTHONPATH with the folder of tests."""
    return os.pathsep.join(filter(None, [str(ROOT / "tests"), os.environ.get("PYTHONPATH")]))


def pytest_collection_finish(session):
    """Give each array its own memory from the driver: the tools cannot see the ends of arrays in gpukit's pool."""
    from gpukit import _driver

    _driver.pool = lambda: None
