"""CUDA graphs of copies and kernels give the results of launches one after another."""

import gc
import os

import numpy as np
import pytest

from gpukit import _driver
from gpukit._cuda import SIMULATED, cuda, kernel
from gpukit.device import cuda_graph
from gpukit.device.cuda_graph import GraphFunction

SIZE = 37


@kernel
def scale(x, factors, number, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] * factors[i] + number


@kernel
def pair_up(x, out):
    """Add each number and its neighbour: wrong if the kernel before has not ended."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + x[i + 1]


def make_function(factors, number=3.0, block=16):
    """Return a GraphFunction of two kernels, whose source, intermediate and result differ in shape."""
    source, result = _driver.device_array(SIZE, np.float32), _driver.device_array(SIZE - 1, np.float64)
    middle, grid = _driver.device_array(SIZE, np.float64), (-(-SIZE // block), 1, 1)
    launches = (scale, grid, block, source, factors, number, middle), (pair_up, grid[0], (block, 1), middle, result)
    return GraphFunction(source, launches, result)


def expected(x, factors, number=3.0):
    middle = x.astype(np.float64) * factors + number
    return middle[:-1] + middle[1:]


@pytest.mark.kernel
@pytest.mark.parametrize("block", [1, 16, 64])
def test_every_call_has_its_result(block):
    """Arrays may change between calls, results belong to the caller, two graphs are independent."""
    host = np.arange(SIZE, dtype=np.float64)
    factors, results, wanted = cuda.to_device(host), [], []
    first, second = make_function(factors, block=block), make_function(factors, 8.0, block)
    for turn in range(4):
        x = (np.arange(SIZE) + turn).astype(np.float32)
        if turn == 2:
            factors.copy_to_device(host[::-1].copy())
            host = host[::-1]
        results += first(x), second(2 * x)
        wanted += expected(x, host), expected(2 * x, host, 8.0)
        x[:] = -1
        gc.collect()
    np.testing.assert_array_equal(results, wanted)


@pytest.mark.kernel
def test_arrays_of_another_type_or_shape():
    """Another dtype is converted, another shape is an error, in the first call and later."""
    factors = np.ones(SIZE)
    function = make_function(cuda.to_device(factors))
    for _ in range(3):
        x = np.arange(2 * SIZE)[::2]
        np.testing.assert_array_equal(function(x), expected(x, factors))
        for wrong in (np.ones(1), np.ones((1, SIZE)), np.ones(SIZE + 1)):
            with pytest.raises(ValueError, match=rf"shape \({wrong.shape[0]}.* does not fit one of shape \({SIZE},\)"):
                function(wrong)


@pytest.mark.kernel
def test_arguments_that_only_numba_can_pass():
    """A host array is copied with each launch."""
    factors = np.ones(SIZE)
    function = make_function(factors)
    for turn in range(3):
        factors[:] = turn
        x = np.arange(SIZE, dtype=np.float32)
        np.testing.assert_array_equal(function(x), expected(x, factors))


@pytest.mark.gpu
def test_later_calls_launch_the_graph_alone(monkeypatch):
    assert not SIMULATED
    factors, x = np.linspace(0, 1, SIZE), np.arange(SIZE, dtype=np.float32)
    function = make_function(cuda.to_device(factors))
    function(x)
    for name in ("launch", "copy_in", "copy_out"):
        monkeypatch.setattr(cuda_graph, name, None)
    calls, ask = [], _driver.call_driver
    monkeypatch.setattr(
        cuda_graph, "call_driver", lambda name, *arguments: (calls.append(name), ask(name, *arguments))[1]
    )
    gc.collect()
    np.testing.assert_array_equal(function(x), expected(x, factors))
    assert calls == ["cuGraphLaunch", "cuStreamSynchronize"]


def test_a_graph_is_destroyed_by_the_process_that_made_it(monkeypatch):
    calls = []
    monkeypatch.setattr(cuda_graph, "call_driver", lambda *call: calls.append(call))
    cuda_graph.destroy_graph("another's", os.getpid() + 1)
    cuda_graph.destroy_graph("mine", os.getpid())
    assert calls == [("cuGraphExecDestroy", "mine")]


@pytest.mark.gpu
def test_a_graph_waits_for_earlier_launches():
    factors = cuda.to_device(np.ones(SIZE))
    function, x = make_function(factors), np.arange(SIZE, dtype=np.float32)
    many = _driver.zeros(1 << 26, np.uint8)
    for turn in range(5):
        for _ in range(20):
            many.copy_to_device(many)
        _driver.copy_in(np.full(SIZE, float(turn)), factors)
        np.testing.assert_array_equal(function(x), expected(x, np.full(SIZE, float(turn))))
