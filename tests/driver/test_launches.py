"""Launches by the driver's own call pass the same arguments as numba's."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
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
    """Store numbers of all kinds, an array's shape and strides, a tuple of tuples."""
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
def test_launches_that_are_repeated():
    """Each launch reads the current content of its arrays.

    Other launches in between have no effect, also of the same kernel.
    """
    x, by = np.arange(32, dtype=np.float32), cuda.to_device(np.ones(32, np.float32))
    line, outs = Line(cuda.to_device(x), by), [cuda.device_array(32, np.float32) for _ in range(2)]
    streams = None, cuda.stream()
    ready = [
        _driver.Repeated(shift, 1, 32, line, np.float32(number), outs[number], stream=streams[number])
        for number in range(2)
    ]
    for turn in range(4):
        line.x.copy_to_device(x + turn)
        for number in (1, 0, 1):
            ready[number]()
            launch(shift, 1, 32, Line(by, by), np.float32(-1.0), cuda.device_array(32, np.float32))
        for number in range(2):
            np.testing.assert_array_equal(outs[number].copy_to_host(), x + turn + number)


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
    """Arrays on the host are copied to the device and back, each time."""
    for turn in range(3):
        out = np.zeros(32, np.float32)
        launch(shift, 1, 32, Line(*np.ones((2, 32), np.float32)), np.float32(turn), out)
        np.testing.assert_array_equal(out, np.full(32, 1 + turn))


@pytest.mark.kernel
def test_small_copies():
    """The content of an array is copied and converted; another shape is an error."""
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
    back = _driver.copy_out(there)
    assert back.dtype == np.float32 and _driver.copy_out(_driver.device_array((0, 3), np.int8)).shape == (0, 3)
    np.testing.assert_array_equal(back, np.arange(24.0).reshape(4, 6).T[::2])


@pytest.mark.gpu
def test_numba_launches_the_first_time_alone(monkeypatch):
    assert not SIMULATED
    line = Line(*(_driver.zeros(32, np.float32) for _ in range(2)))
    out, own = _driver.device_array(32, np.float32), kernel(shift.py_func)
    launch(own, 1, 32, line, np.float32(3), out)
    monkeypatch.setattr(type(own), "call", None)  # further requests to numba fail
    launch(own, 1, 32, line, np.float32(5), out)
    np.testing.assert_array_equal(out.copy_to_host(), np.full(32, 5))


@pytest.mark.gpu
def test_memory_goes_back_when_nothing_is_taken(monkeypatch):
    """Released memory is reused, and freed with the last array.

    It is also freed on request.
    """
    _driver.release()
    context = cuda.current_context()
    monkeypatch.setitem(context.extras, "gpukit", _driver.Pool(context))  # without further references
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


class Loads:
    """A kernel whose code is loaded at its first launch.

    As in numba-cuda, two threads do not load it at the same time.
    """

    def __init__(self):
        self.loading, self.twice, self.launched = threading.Semaphore(1), 0, []

    def __getitem__(self, how):
        return lambda *arguments: self.load(how, arguments)

    def load(self, how, arguments):
        alone = self.loading.acquire(blocking=False)
        self.twice += not alone
        time.sleep(0.01)
        self.launched.append((how, arguments))
        if alone:
            self.loading.release()


def test_threads_load_a_kernel_one_after_the_other(monkeypatch):
    monkeypatch.setattr(_driver, "SIMULATED", True)  # every launch is a first one
    loads, other = Loads(), Loads()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda turn: launch((loads, other)[turn % 2], 1, 32, turn), range(16)))
    assert loads.twice == other.twice == 0
    assert sorted(loads.launched) == [((1, 32), (turn,)) for turn in range(0, 16, 2)]


@pytest.mark.gpu
def test_threads_that_launch_a_kernel_first_at_once():
    @cuda.jit
    def count(out, by):
        out[cuda.threadIdx.x] += by

    arrays, begin = [cuda.to_device(np.zeros(32, np.float32)) for _ in range(16)], threading.Barrier(16)

    def first(turn):
        begin.wait()
        launch(count, 1, 32, arrays[turn], np.float32(turn))

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(first, range(16)))
    for turn, array in enumerate(arrays):
        np.testing.assert_array_equal(array.copy_to_host(), np.full(32, turn, np.float32))
