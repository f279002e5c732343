"""The threading layer: which is chosen and why, and who is refused. Layers at work: tests/reliability."""

import platform
import subprocess
import sys
from importlib import metadata
from types import SimpleNamespace

import numpy as np
import pytest

from gpukit._jit import ParallelFunction, njit, numba, prange
from gpukit.errors import DeviceError, ParameterError
from gpukit.runtime import threads


@njit(parallel=True)
def double(x):
    for i in prange(len(x)):
        x[i] *= 2


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the package tbb is for x86-64")
def test_by_default_it_is_tbb_where_the_package_is():
    code = "from gpukit.runtime import threads; print(threads.begun(), threads.layer(), threads.reason())"
    env = {"PATH": "/usr/bin:/bin", "NUMBA_THREADING_LAYER": "default"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert done.stdout == "None tbb safe for threads and for forked processes\n"


def test_without_the_package_there_is_no_path(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(threads.metadata, "files", missing)
    assert threads._pip_library() is None
    monkeypatch.setattr(threads.metadata, "files", lambda name: None)
    assert threads._pip_library() is None


@pytest.mark.parametrize(
    "asked, there, told",
    [
        ("fibres", (), "one of tbb, omp, workqueue"),
        ("tbb", ("omp",), "pip install 'gpukit.threads.'"),
        ("safe", ("omp",), "pip install"),
        ("omp", (), "one of"),
        ("threadsafe", ("omp",), None),
        ("default", ("workqueue",), None),
    ],
)
def test_a_layer_that_is_not_there_is_refused(monkeypatch, asked, there, told):
    monkeypatch.setattr(threads, "numba", SimpleNamespace(config=SimpleNamespace(THREADING_LAYER=asked)))
    monkeypatch.setattr(threads, "_is_there", there.__contains__)
    monkeypatch.setattr(threads.os, "register_at_fork", lambda **_: None)
    if told is None:
        return threads.prepare()
    with pytest.raises(ParameterError, match=f"NUMBA_THREADING_LAYER={asked}: .*{told}"):
        threads.prepare()


@pytest.mark.parametrize("layer, words", [("tbb", "forked"), ("omp", "pip install"), ("workqueue", "wait")])
def test_the_reason_is_told(monkeypatch, layer, words):
    monkeypatch.setattr(threads, "layer", lambda: layer)
    monkeypatch.setattr(numba.config, "THREADING_LAYER", "default")
    assert words in threads.reason()
    monkeypatch.setattr(numba.config, "THREADING_LAYER", layer)
    assert threads.reason() == f"NUMBA_THREADING_LAYER={layer}"


@pytest.mark.parametrize(
    "begun, main, at_work, words",
    [
        (None, True, 1, None),
        ("workqueue", False, 1, None),
        ("tbb", True, 0, None),
        ("tbb", True, 1, "while other threads computed"),
        ("tbb", False, 0, "by a thread that is not the main one"),
        ("omp", True, 0, "layer omp.* had begun"),
    ],
)
def test_who_is_refused_after_a_fork(monkeypatch, begun, main, at_work, words):
    monkeypatch.setattr(threads, "begun", lambda: begun)
    monkeypatch.setattr(threads, "_at_work", [None] * at_work)
    monkeypatch.setattr(threads.threading, "current_thread", threads.threading.main_thread if main else lambda: None)
    why = threads._what_ails_a_child()
    assert (why is None) == (words is None)
    if words is not None:
        with pytest.raises(DeviceError, match=f"cannot compute in this process: it was forked .*{words}.* 'spawn'"):
            threads._refusal(why)(double, None)


def test_calls_are_counted_while_they_last():
    x = np.ones(5)
    double(x)
    assert x.tolist() == [2] * 5 and threads._at_work == [] and isinstance(double, ParallelFunction)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells which libraries are loaded")
def test_what_is_kept_is_not_unloaded():
    """In a process of its own: a library that nobody else has loaded, closed without being kept, and kept."""
    code = """if True:
        import _ctypes, ctypes, sysconfig
        from pathlib import Path
        from gpukit.runtime import threads
        maps, there = Path("/proc/self/maps"), sorted(Path(sysconfig.get_config_var("DESTSHARED")).glob("_*.so"))
        path = next(one for one in there if one.name not in maps.read_text())
        for keep in (False, True):
            handle = ctypes.CDLL(str(path))._handle
            if keep:
                threads.keep(path.name)
            _ctypes.dlclose(handle)
            print(path.name in maps.read_text())
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\nTrue\n"
    threads.keep("no such library")


def test_a_process_keeps_what_tbb_would_unload_as_it_ends():
    """Where hwloc is there, as in Open MPI's processes, TBB loads those libraries."""
    code = """if True:
        import atexit
        seen = []
        atexit.register = lambda *told: seen.append(told)
        from gpukit import _jit
        from gpukit.runtime import threads
        print(seen.count((threads.keep, "libtcm", "libtbbbind")))
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"
