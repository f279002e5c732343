"""Faults that a tool of compute-sanitizer must report before its result counts.

The driver names them one by one; no tier collects this file.
"""

import numpy as np
import pytest

pytestmark = pytest.mark.kernel

from gpukit._cuda import cuda, kernel
from gpukit._driver import device_array

SIZE = 33


@kernel
def write_beyond(out):
    """out (n,) float32: out[n + 2] = 1, beyond its end."""
    if cuda.threadIdx.x == 0:
        out[out.shape[0] + 2] = np.float32(1)


@kernel
def share_in_haste(out):
    """out (64,) float32: each thread reads a number of another warp without a barrier."""
    shared = cuda.shared.array(64, np.float32)
    i = cuda.threadIdx.x
    shared[i] = np.float32(i)
    out[i] = shared[63 - i]


@kernel
def read_nothing(x, out):
    """out = x, x (n,) uninitialized float32."""
    i = cuda.threadIdx.x
    if i < x.shape[0]:
        out[i] = x[i]


def test_memcheck():
    write_beyond[1, 32](cuda.device_array(SIZE, np.float32))
    cuda.synchronize()


def test_memcheck_in_the_pool():
    write_beyond[1, 32](device_array(SIZE, np.float32))
    cuda.synchronize()


def test_racecheck():
    share_in_haste[1, 64](cuda.device_array(64, np.float32))
    cuda.synchronize()


def test_initcheck():
    read_nothing[1, 64](cuda.device_array(SIZE, np.float32), cuda.device_array(SIZE, np.float32))
    cuda.synchronize()
