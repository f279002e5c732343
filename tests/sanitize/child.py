"""A test in a process of its own, under compute-sanitizer or without; and what such a process changes in gpukit.

pytest loads this file there as a plugin.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from sanitize.kernels import ROOT

SANITIZER = "compute-sanitizer"
OPTIONS = {
    "memcheck": ["--padding", "32"],  # bytes behind each array that belong to nobody
    "racecheck": [],
    "initcheck": [],
    "synccheck": [],
}
ALWAYS = ["--target-processes", "all", "--report-api-errors", "no", "--show-backtrace", "no"]
PYTEST = ["-m", "pytest", "-m", "kernel", "-p", "no:cacheprovider", "-p", "sanitize.child"]


def sanitized(tool, test, limit):
    """(whether it ended within so many seconds, what it wrote) of one test under a tool."""
    command = [SANITIZER, "--tool", tool, *OPTIONS[tool], *ALWAYS, sys.executable, *PYTEST, f"tests/{test}"]
    return _ended(command, limit)


def warm(tests, jobs, limit):
    """Run tests as they are, so many processes side by side, so that their kernels are compiled and kept; what the
    processes wrote whose tests failed."""
    commands = [[sys.executable, *PYTEST, *(f"tests/{test}" for test in tests[job::jobs])] for job in range(jobs)]
    with ThreadPoolExecutor(jobs) as pool:
        ends = pool.map(lambda command: _ended(command, limit), [c for c in commands if c[-1] != PYTEST[-1]])
        return [text for ended, text in ends if not ended or "passed" not in text or "failed" in text]


def _ended(command, limit):
    """(whether a command ended within so many seconds, its output and errors)."""
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
    """PYTHONPATH with the folder of tests in it."""
    return os.pathsep.join(filter(None, [str(ROOT / "tests"), os.environ.get("PYTHONPATH")]))


def pytest_collection_finish(session):
    """Each array gets memory of its own from the driver: of what lies side by side in gpukit's pool the tools cannot
    tell the ends."""
    from gpukit import _driver

    _driver.pool = lambda: None
