"""Launches by the driver's own call: what arrives is what numba hands over."""

from typing import NamedTuple

import numpy as np
import pytest

from gpukit import _driver
from gpukit._cuda import SIMULATED, cuda, kernel
from gpukit._driver import launch


class Line(NamedTuple):
    """x and y of points."""

    x: np.ndarray
    y: np.ndarray


@kernel
def shift(line, by, out):
    i = cuda.threadIdx.x
    out[i] = line.x[i] * line.y[i] + by


@kernel
def gather(one, table, two, pair, out):
    """Numbers of all kinds, an array's shape and strides, a tuple of tuples."""
    column = cuda.blockIdx.x
    row = cuda.blockIdx.y
    out[0, row, column] = one
    out[1, row, column] = table[row, column]
    out[2, row, column] = two
    out[3, row, column] = pair[0]
    out[4, row, column] = pair[1][1]
    out[5, row, column] = table.shape[0]
    out[6, row, column] = cuda.gridDim.z


@pytest.mark.kernel
def test_every_launch_takes_its_own_arguments():
    x = np.arange(32, dtype=np.float32)
    for turn in range(3):
        line, out = Line(cuda.to_device(x + turn), cuda.to_device(x)), cuda.device_array(32, np.float32)
        launch(shift, 1, 32, line, np.float32(turn), out)
        np.testing.assert_array_equal(out.copy_to_host(), (x + turn) * x + turn)


@pytest.mark.kernel
@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize("strided", [False, True])
def test_all_kinds_of_arguments(kind, strided):
    whole = np.random.default_rng(0).normal(size=(3, 10))
    there = cuda.to_device(whole)[:, ::2] if strided else cuda.to_device(whole[:, :5].copy())
    for turn in range(3):
        out = cuda.to_device(np.zeros((7, 3, 5)))
        low = np.iinfo(kind).min if turn == 1 else np.iinfo(kind).max // 3 + turn
        given = kind(low), there, np.float32(turn / 3), (turn == 1, (-turn, np.float64(0.1 * turn)))
        launch(gather, (5, 3, 1), (1, 1), *given, out)
        table = whole[:, ::2] if strided else whole[:, :5]
        expected = [float(low), table, np.float32(turn / 3), float(turn == 1), 0.1 * turn, 3.0, 1.0]
        np.testing.assert_array_equal(out.copy_to_host(), [np.broadcast_to(np.float64(x), (3, 5)) for x in expected])


@pytest.mark.kernel
def test_arrays_that_only_numba_can_hand_over():
    """Arrays on the host go there and back, each time."""
    for turn in range(3):
        out = np.zeros(32, np.float32)
        launch(shift, 1, 32, Line(*np.ones((2, 32), np.float32)), np.float32(turn), out)
        np.testing.assert_array_equal(out, np.full(32, 1 + turn))


@pytest.mark.kernel
def test_small_copies():
    """Whatever lies in an array arrives, converted; another shape is refused."""
    there = _driver.device_array((3, 4), np.float32)
    for array in (np.arange(12.0).reshape(3, 4), np.arange(24, dtype=np.int64).reshape(4, 6)[:3, ::-1][:, ::2][:, :3]):
        if array.shape != there.shape:
            with pytest.raises(ValueError, match=r"shape \(3, 3\) does not fit one of shape \(3, 4\)"):
                _driver.copy_in(array, there)
            continue
        _driver.copy_in(array, there)
        np.testing.assert_array_equal(there.copy_to_host(), array)
    _driver.copy_in(np.arange(24.0).reshape(4, 6).T[::2], there)
    np.testing.assert_array_equal(there.copy_to_host(), np.arange(24.0).reshape(4, 6).T[::2])
    np.testing.assert_array_equal(_driver.zeros((3, 4), np.int16).copy_to_host(), np.zeros((3, 4)))


@pytest.mark.gpu
def test_numba_launches_the_first_time_alone(monkeypatch):
    assert not SIMULATED
    line = Line(*(_driver.zeros(32, np.float32) for _ in range(2)))
    out, own = _driver.device_array(32, np.float32), kernel(shift.py_func)
    launch(own, 1, 32, line, np.float32(3), out)
    monkeypatch.setattr(type(own), "call", None)  # whoever asks numba now fails
    launch(own, 1, 32, line, np.float32(5), out)
    np.testing.assert_array_equal(out.copy_to_host(), np.full(32, 5))


@pytest.mark.gpu
def test_memory_goes_back_when_nothing_is_taken():
    """What is given back is kept for who takes next, and goes to the driver with the last array, or when asked."""
    _driver.release()
    free = cuda.current_context().get_memory_info()[0]
    one, other = _driver.device_array(1 << 28, np.uint8), _driver.device_array(16, np.uint8)
    assert cuda.current_context().get_memory_info()[0] <= free - (1 << 28)
    view = one.view(np.float32)[5:9]
    del one
    cuda.synchronize()
    assert cuda.current_context().get_memory_info()[0] <= free - (1 << 28), "a view keeps its array"
    del view
    cuda.synchronize()
    assert cuda.current_context().get_memory_info()[0] <= free - (1 << 28), "kept for the next"
    _driver.release()
    assert cuda.current_context().get_memory_info()[0] > free - (1 << 28), "given back when asked"
    more = _driver.device_array(1 << 28, np.uint8)
    del more, other
    assert cuda.current_context().get_memory_info()[0] >= free - (32 << 20), "given back with the last"
