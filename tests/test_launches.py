"""Launches of a kernel again and again: the arguments' types are looked at once."""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

from gpukit._cuda import cuda, kernel, repeated


class Line(NamedTuple):
    """x and y of points."""

    x: np.ndarray
    y: np.ndarray


@kernel
def shift(line, by, out):
    i = cuda.threadIdx.x
    out[i] = line.x[i] * line.y[i] + by


@pytest.mark.kernel
def test_every_launch_takes_its_own_arguments():
    launch, x = repeated(shift[1, 32]), np.arange(32, dtype=np.float32)
    for turn in range(3):
        line, out = Line(cuda.to_device(x + turn), cuda.to_device(x)), cuda.device_array(32, np.float32)
        launch(line, np.float32(turn), out)
        np.testing.assert_array_equal(out.copy_to_host(), (x + turn) * x + turn)


def test_types_are_looked_at_once():
    """The first launch is the kernel's own; what it found to be compiled starts the others, in the same shape."""
    begun = []
    found = SimpleNamespace(launch=lambda *given: begun.append(given))

    class Launch(SimpleNamespace):
        def __call__(self, *arguments):
            begun.append(arguments)

    dispatcher = SimpleNamespace(typeof_pyval=type, overloads={(int, str): found})
    start = repeated(Launch(dispatcher=dispatcher, griddim=(2, 1, 1), blockdim=(32, 1, 1), stream=0, sharedmem=8))
    start(1, "a")
    start(2, "b")
    start(3, "c")
    shape = (2, 1, 1), (32, 1, 1), 0, 8
    assert begun == [(1, "a"), ((2, "b"), *shape), ((3, "c"), *shape)]
