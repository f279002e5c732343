"""Deferred imports and garbage collection of a command's process."""

import gc
import subprocess
import sys
import threading

import pytest

from gpukit.errors import ParameterError
from gpukit.runtime import start

SCIPY = """
import sys
import numpy
from gpukit.runtime.start import defer_unused_modules
defer_unused_modules()
import scipy.sparse
loaded = [name for name in ("numpy.f2py.crackfortran", "unittest") if name in sys.modules]
import numpy.testing
numpy.testing.assert_array_equal([1], [1])
from numpy import f2py
print(loaded, f2py.get_include.__name__, f2py is sys.modules["numpy.f2py"])
"""


@pytest.mark.slow
def test_deferred_modules_are_loaded_on_access():
    result = subprocess.run([sys.executable, "-c", SCIPY], capture_output=True, text=True, timeout=60)
    assert (result.stdout.strip(), result.stderr) == ("[] get_include True", "")


@pytest.mark.parametrize("name", ["numpy.nobody", "gpukit.runtime.start"])
def test_unknown_and_imported_modules_are_ignored(name):
    before = sys.modules.get(name)
    start.defer_import(name)
    assert sys.modules.get(name) is before


def test_garbage_is_collected_less_often():
    before = gc.get_threshold()
    try:
        start.raise_gc_threshold()
        assert gc.get_threshold() == (start.GC_THRESHOLD, *before[1:]) and gc.isenabled()
    finally:
        gc.set_threshold(*before)


@pytest.mark.parametrize(
    "text, size",
    [("1", 1), ("8000000000", 8 * 10**9), ("7.5GiB", 7.5 * 2**30), (" 500 mib ", 500 << 20), ("64B", 64)],
)
def test_a_limit_of_gpu_memory(text, size):
    assert start.gpu_memory_limit({"GPUKIT_GPU_MEMORY": text}) == size
    assert start.gpu_memory_limit({}) is None


@pytest.mark.parametrize(
    "text", ["", "0", "0.2B", "-1", "-1GiB", "abc", "1e9", "1TB", "1GiBs", "nan", "²", "0x10", "1,5GiB"]
)
def test_a_wrong_limit_is_one_line(text):
    with pytest.raises(ParameterError, match="is not a size of GPU memory. Set a positive number of bytes") as refused:
        start.gpu_memory_limit({"GPUKIT_GPU_MEMORY": text})
    assert str(refused.value).startswith(f"GPUKIT_GPU_MEMORY={text!r}") and "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["", "0", "-3", "abc", "²", "1.5", "99999"])
@pytest.mark.parametrize("name", ["GPUKIT_NUM_THREADS", "NUMBA_NUM_THREADS"])
def test_a_wrong_number_of_threads_is_one_line(name, text):
    start.check_threads({name: str(start.MOST_THREADS)})
    with pytest.raises(ParameterError, match="is not a number of threads. Set 1 to 16,384, or unset it") as refused:
        start.check_threads({name: text})
    assert str(refused.value).startswith(f"{name}={text!r}") and "\n" not in str(refused.value)


@pytest.mark.parametrize("name, is_read", [("a.csv", True), ("a.GKR", False)])
def test_the_reader_is_imported_for_text(monkeypatch, name, is_read):
    loaded = threading.Event()
    monkeypatch.setattr(start.importlib, "import_module", lambda module: loaded.set())
    start.import_reader(name)
    assert loaded.wait(5 if is_read else 0.1) == is_read
