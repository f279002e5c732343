"""Tiers by marks, and the tests that run on this machine.

fast      without a mark: make test                           pytest -m fast
slow      processes, whole estimators: make test-slow         pytest -m slow
nightly   whole tables, many seeds: make test-nightly         pytest -m nightly

Each tier runs without kernels, and kernels (the mark `kernel`) run in the simulator: NUMBA_ENABLE_CUDASIM=1
NUMBA_DISABLE_JIT=1 pytest -m fast. On a GPU both run: GPUKIT_REQUIRE_GPU=1 pytest (make gpu); a missing GPU is a
failure, never a skip. tests/compile runs in a separate process. Without -m, tests that are not nightly run.
"""

import gc
import os
import re
import signal
import sys
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

# Processes that share the cores (pytest -n): two threads each, asleep while they wait, where waiting busily takes the
# cores from the others. Before numba and numpy, which read it when they are imported.
if "PYTEST_XDIST_WORKER" in os.environ:
    for name, value in {"NUMBA_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}.items():
        os.environ.setdefault(name, value)
    gc.disable()  # until tests are collected, a quarter of a million objects that stay: see pytest_collection_finish

# A shell's background hands down that SIGINT is ignored, which tests of Ctrl-C and their commands would inherit.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import gpukit  # noqa: F401

sys.path.insert(0, str(Path(__file__).parent))  # `import support`, from every folder of tests
ROOT = Path(__file__).resolve().parent.parent
SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"
REQUIRE_GPU = os.environ.get("GPUKIT_REQUIRE_GPU") == "1"

if SIMULATED:
    import cudasim  # noqa: F401  (before any kernel module)

from sanitize.cases import STANDS_FOR
from sanitize.launched import launches

SMALLEST = {"tests/" + name.partition("::")[0] for name in STANDS_FOR}  # files with the smallest launches of kernels
MARKED = re.compile(r"mark\.kernel\b")
MARKED_AS_A_WHOLE = re.compile(r"^pytestmark = \[?pytest\.mark\.(kernel|gpu)\b", re.MULTILINE)
SIMULATED_AS_A_WHOLE = re.compile(r"^pytestmark = .*mark\.simulator\b", re.MULTILINE)
TIERS = {"slow": re.compile(r"mark\.slow\b|\bthinned\("), "nightly": re.compile(r"mark\.nightly\b")}
PATTERNS = {"kernel": MARKED, **TIERS}
SLOW_AS_A_WHOLE = re.compile(r"^pytestmark = .*mark\.(slow|nightly)\b", re.MULTILINE)


def pytest_ignore_collect(collection_path, config):
    """Ignore files without a test that may run here; reading them takes less time than importing them.

    tests/compile runs only when it is named, because it replaces parts of numba-cuda for its whole process.
    """
    folder = Path(__file__).parent / "compile"
    if collection_path == folder:
        return None if any(Path(str(a).split("::")[0]).resolve().is_relative_to(folder) for a in config.args) else True
    if collection_path.suffix == ".py":
        text = collection_path.read_text(encoding="utf-8")
        if is_of_another_tier(collection_path, text, config.option.markexpr):
            return True
        if not SIMULATED and SIMULATED_AS_A_WHOLE.search(text):  # importing cudasim replaces parts of numba-cuda
            return True
        if not asks_for_kernels(config):
            return True if (not MARKED.search(text) if SIMULATED else MARKED_AS_A_WHOLE.search(text)) else None
    return None


def is_of_another_tier(path, text, tier):
    """Return True if a file has no test of the tier that -m names alone."""
    if tier in TIERS:
        return not TIERS[tier].search(text)
    return tier == "fast" and bool(SLOW_AS_A_WHOLE.search(text)) and str(path.relative_to(ROOT)) not in SMALLEST


def asks_for_kernels(config):
    """Return True if tests with and without kernels run: on a GPU, or if a mark of theirs is named."""
    return REQUIRE_GPU or re.search(r"\b(kernel|gpu|simulator)\b", config.option.markexpr)


def pytest_make_parametrize_id(val, argname):
    """Name archives by their argument: they may contain the time, and all processes need the same names of tests."""
    return argname if isinstance(val, bytes) and len(val) > 30 else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark tests without a tier as fast; leave out tests that do not run here, and nightly ones unless marks are named.

    The smallest irregular launch of each kernel is fast, whatever the mark of its function.
    """
    files, left_out = {name: set() for name in PATTERNS}, []
    for item in items:
        is_smallest, marks = item.nodeid.removeprefix("tests/") in STANDS_FOR, marks_of(item)
        if is_smallest or "nightly" in marks:  # of a case; others of the function are slow
            item.own_markers = [mark for mark in item.own_markers if mark.name != "slow"]
            marks = marks_of(item)
        if is_smallest or marks.isdisjoint(TIERS):
            item.add_marker("fast")
        for name in marks & files.keys():
            files[name].add(item.path)
        if is_left_out(config, marks):
            left_out.append(item)
    for name, pattern in PATTERNS.items():
        for path in files[name]:
            if not pattern.search(path.read_text(encoding="utf-8")):
                raise pytest.UsageError(f"{path}: write pytest.mark.{name} in full, else runs with -m miss the file")
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]


def marks_of(item):
    """Return the names of a test's marks."""
    return {mark.name for mark in item.iter_markers()}


def is_left_out(config, marks):
    """Return True if a test with these marks does not run here, or is nightly and no marks are named.

    Without a GPU kernels run in the simulator, all others outside it.
    """
    if "simulator" in marks and not SIMULATED or "nightly" in marks and not config.option.markexpr:
        return True
    return not asks_for_kernels(config) and (("kernel" in marks) != SIMULATED or "gpu" in marks)


def pytest_collection_finish():
    """Exempt existing objects from garbage collection, which the compiler triggers every few milliseconds."""
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    gc.enable()


def pytest_runtest_protocol(item, nextitem):
    """Send one report of a passed test: messages of parallel processes cost as much as a small test."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return None
    for report in runtestprotocol(item, nextitem=nextitem, log=False):
        if report.when == "call" or not report.passed or report.sections or report.duration > 0.01:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """Return the number of processes for pytest -n auto; see shares.py."""
    from shares import count_processes

    from gpukit._cores import cores

    return count_processes(cores(), None if SIMULATED else config.option.markexpr)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Distribute files, and cases of tests/compile; see shares.py."""
    from shares import Shares

    return Shares(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_runtest_setup(item):
    """Fail a test that needs a GPU if there is none; never skip it."""
    if SIMULATED or not (item.get_closest_marker("gpu") or item.get_closest_marker("kernel")):
        return
    from gpukit.device import gpu_count

    if not gpu_count():
        pytest.fail("no CUDA GPU here: run it in the simulator (make test), or on a machine with a GPU")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Check that a test launches the kernels assigned to it in tests/sanitize/cases.py."""
    names = STANDS_FOR.get(item.nodeid.removeprefix("tests/"))
    if not names:
        return (yield)
    with launches() as seen:
        yield
    lacking = sorted(names - seen)
    assert not lacking, f"tests/sanitize/cases.py says that this test launches {', '.join(lacking)}"


@pytest.fixture
def data():
    """Path of a real dataset by name; see support.data."""
    from support import data as find

    return find


@pytest.fixture(scope="session")
def root():
    """The repository's folder."""
    return ROOT
