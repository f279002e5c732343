"""Deferred imports and garbage collection of a command's process."""

import gc
import subprocess
import sys

import pytest

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
