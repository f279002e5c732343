"""What a command's process leaves out while it imports."""

import gc
import subprocess
import sys

import pytest

from gpukit.runtime import start

SCIPY = """
import sys
import numpy
from gpukit.runtime.start import put_off_unused
put_off_unused()
import scipy.sparse
loaded = [name for name in ("numpy.f2py.crackfortran", "unittest") if name in sys.modules]
import numpy.testing
numpy.testing.assert_array_equal([1], [1])
from numpy import f2py
print(loaded, f2py.get_include.__name__, f2py is sys.modules["numpy.f2py"])
"""


@pytest.mark.slow
def test_what_scipy_imports_for_nothing_is_there_for_who_asks():
    found = subprocess.run([sys.executable, "-c", SCIPY], capture_output=True, text=True, timeout=60)
    assert (found.stdout.strip(), found.stderr) == ("[] get_include True", "")


@pytest.mark.parametrize("name", ["numpy.nobody", "gpukit.runtime.start"])
def test_what_is_nowhere_or_there_already_stays_so(name):
    before = sys.modules.get(name)
    start.put_off(name)
    assert sys.modules.get(name) is before


def test_python_looks_for_circles_seldom_and_still_finds_them():
    before = gc.get_threshold()
    try:
        start.seldom_collected()
        assert gc.get_threshold() == (start.YOUNG, *before[1:]) and gc.isenabled()
    finally:
        gc.set_threshold(*before)
