"""The four tiers: twin (default), sim, gpu here; compile has a process of its own (make ptx).

twin   pytest -m "not kernel and not gpu"
sim    NUMBA_ENABLE_CUDASIM=1 NUMBA_DISABLE_JIT=1 pytest -m kernel
gpu    GPUKIT_REQUIRE_GPU=1 pytest            a missing GPU fails, never skips
"""

import gc
import os
import re
import sys
from pathlib import Path

import pytest

# Processes that share the cores (pytest -n): two threads each, asleep while they wait, where waiting busily takes the
# cores from the others. Before numba and numpy, which read it when they are imported.
if "PYTEST_XDIST_WORKER" in os.environ:
    for name, value in {"NUMBA_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}.items():
        os.environ.setdefault(name, value)

import gpukit  # noqa: F401

sys.path.insert(0, str(Path(__file__).parent))  # `import support`, from every folder of tests
ROOT = Path(__file__).resolve().parent.parent
SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"
REQUIRE_GPU = os.environ.get("GPUKIT_REQUIRE_GPU") == "1"

if SIMULATED:
    import cudasim  # noqa: F401  (before any kernel module)

from sanitize.cases import STANDS_FOR
from sanitize.launched import launches

MARKED = re.compile(r"mark\.kernel\b")
MARKED_AS_A_WHOLE = re.compile(r"^pytestmark = \[?pytest\.mark\.(kernel|gpu)\b", re.MULTILINE)


def pytest_ignore_collect(collection_path, config):
    """tests/compile runs only when it is named: it replaces parts of numba-cuda for its whole process. Files without a
    test of the tier are not imported, which takes longer than reading them."""
    folder = Path(__file__).parent / "compile"
    if collection_path == folder:
        return None if any(Path(str(a).split("::")[0]).resolve().is_relative_to(folder) for a in config.args) else True
    if collection_path.suffix == ".py" and config.option.markexpr in TIERS:
        return True if TIERS[config.option.markexpr](collection_path.read_text(encoding="utf-8")) else None
    return None


TIERS = {  # marks asked for: whether a file with this text has no such test
    "kernel": lambda text: not MARKED.search(text),
    "not kernel and not gpu": MARKED_AS_A_WHOLE.search,
}


# The files that take longest. Side by side, a file goes to one process as a whole, and none of these should come last.
LONGEST = (
    "fuzz/test_fuzz.py",
    "imputation/test_estimator.py",
    "cli/test_interrupted.py",
    "reliability/test_kills.py",
    "reliability/test_threads.py",
    "reliability/test_signals.py",
    "svt/test_kernels.py",
    "ranking/kernels/test_kernels.py",
    "neighbors/test_estimator.py",
    "bench/test_ranking.py",
    "ranking/twins/test_twins.py",
    "ranking/solvers/test_counting.py",
    "bench/test_imputation.py",
    "cli/imputation/test_impute.py",
    "cli/ranking/test_ranksvm.py",
    "factorization/estimator/test_accuracy.py",
)


def pytest_collection_modifyitems(config, items):
    """The longest files first. Without a tier asked for, tests that need a GPU or the simulator are left out, not
    skipped."""
    place = {str(Path(__file__).parent / name): at for at, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(str(item.path), len(place)))
    for path in {item.path for item in items if item.get_closest_marker("kernel")}:
        if not MARKED.search(path.read_text(encoding="utf-8")):
            raise pytest.UsageError(f"{path}: write pytest.mark.kernel in full, else `make sim` does not see the file")
    if not SIMULATED:
        leave_out(config, items, [i for i in items if i.get_closest_marker("simulator")])
    if REQUIRE_GPU or SIMULATED or config.option.markexpr:
        return
    leave_out(config, items, [i for i in items if i.get_closest_marker("kernel") or i.get_closest_marker("gpu")])


def pytest_collection_finish():
    """What is there now stays: it is not looked through again for what could be freed, which tests that compile ask for
    every few milliseconds."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Files side by side, and cases of tests/compile: shares.py."""
    from shares import Shares

    return Shares(config, log) if config.getvalue("dist") == "loadfile" else None


def leave_out(config, items, left_out):
    """Take tests out of items."""
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [i for i in items if i not in left_out]


@pytest.fixture(autouse=True)
def gpu_is_there(request):
    """A test that needs a GPU fails without one; it never passes by skipping."""
    needs_gpu = request.node.get_closest_marker("gpu") or request.node.get_closest_marker("kernel")
    if SIMULATED or not needs_gpu:
        return
    from gpukit.device import gpu_count

    if not gpu_count():
        pytest.fail("no CUDA GPU here: run the simulator tier (make sim), or this one on a machine with a GPU")


@pytest.fixture(autouse=True)
def launches_what_it_stands_for(request):
    """A test that stands for kernels in tests/sanitize/cases.py launches them."""
    names = STANDS_FOR.get(request.node.nodeid.removeprefix("tests/"))
    if not names:
        yield
        return
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
