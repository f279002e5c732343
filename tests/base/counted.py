"""Bytes of existing device arrays, counted in the simulator."""

import contextlib
import sys
import weakref

import numpy as np
import pytest
from support import SIMULATED


class Counter:
    """Bytes of the simulator's device arrays: current and maximum."""

    def __init__(self):
        self.now, self.most, self.known = 0, 0, set()

    def add(self, array):
        """Count the memory of an array until it is released."""
        while isinstance(array.base, np.ndarray):
            array = array.base
        if id(array) not in self.known:
            self.known.add(id(array))
            self.now += array.nbytes
            self.most = max(self.most, self.now)
            weakref.finalize(array, self.gone, id(array), array.nbytes)

    def gone(self, number, size):
        """Subtract the memory that was counted under a number."""
        self.known.discard(number)
        self.now -= size


def held(argument):
    """Return the numpy array of a simulator array; anything else unchanged."""
    return getattr(argument, "_ary", argument)


@contextlib.contextmanager
def counting(monkeypatch, launch):
    """Count all device arrays within the context, on a GPU with enough memory.

    A function replaces _driver.launch for kernels, also in modules that are imported within the context.
    """
    if not SIMULATED:
        pytest.skip("arrays are counted in the simulator")
    from gpukit import _driver
    from gpukit._cuda import cuda

    found, real, kind = Counter(), _driver.launch, type(cuda.to_device(np.zeros(1)))
    made = kind.__init__

    def counted(self, array, stream=0):
        made(self, array, stream)
        if isinstance(array, np.ndarray):
            if array.base is None and array.dtype.kind == "f":
                array.fill(0)  # memory that no kernel writes here: its content must not decide a test
            found.add(array)

    monkeypatch.setattr(kind, "__init__", counted)
    monkeypatch.setattr("gpukit.device.memory._free_on_gpu", lambda: 1 << 40)
    replace(real, launch)
    try:
        yield found
    finally:
        replace(launch, real)


def replace(launch, other):
    """Replace the launch function in all modules of gpukit that launch kernels."""
    for name, module in list(sys.modules.items()):
        if name.startswith("gpukit.") and getattr(module, "launch", None) is launch:
            module.launch = other
