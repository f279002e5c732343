"""The pool of device memory, with a driver that records its calls."""

import gc
import os
import weakref
from collections import deque
from types import SimpleNamespace

import numpy as np
import pytest

from gpukit import _driver
from gpukit._cuda import SIMULATED

pytestmark = pytest.mark.skipif(SIMULATED, reason="the simulator has no driver")
if not SIMULATED:
    from numba.cuda.cudadrv import dummyarray
    from numba.cuda.cudadrv.devicearray import DeviceNDArray


class OutOfMemory(Exception):
    """numba's exception for a failed call."""


class Pointer:
    """The required part of numba's MemoryPointer."""

    def __init__(self, context, address, size, finalizer):
        self.address, self.size, self._finalizer = address, size, weakref.finalize(self, finalizer)


class Driver:
    """A driver with limited memory that records the names of its calls."""

    def __init__(self, size):
        self.free, self.sizes, self.called, self.current = size, {}, [], 7

    def cuMemAllocFromPoolAsync(self, size, pool, stream):
        self.called.append("take")
        if size > self.free:
            raise OutOfMemory
        self.free -= size
        self.sizes[1000 + len(self.sizes)] = size
        return 999 + len(self.sizes)

    def cuMemFreeAsync(self, address, stream):
        self.called.append("give")
        self.free += self.sizes[int(address)]

    def cuCtxGetCurrent(self):
        return self.current

    def cuCtxPushCurrent(self, handle):
        self.called.append("push")

    def cuCtxPopCurrent(self):
        self.called.append("pop")

    def __getattr__(self, name):
        return lambda *_: self.called.append({"cuMemPoolTrimTo": "trim"}.get(name, "other"))


@pytest.fixture
def driver(monkeypatch):
    """A Driver of 100 bytes in place of the real one."""
    gc.collect()  # or arrays of other tests would be freed by it
    gc.freeze()  # each collection would look through what they left for half a second
    made = Driver(100)
    names = SimpleNamespace(
        CUmemPoolProps=lambda: SimpleNamespace(location=SimpleNamespace()),
        CUmemAllocationType=SimpleNamespace(CU_MEM_ALLOCATION_TYPE_PINNED=1),
        CUmemLocationType=SimpleNamespace(CU_MEM_LOCATION_TYPE_DEVICE=1),
        CUmemPool_attribute=SimpleNamespace(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD=4),
        cuuint64_t=int,
    )
    for name in ("cuMemAllocFromPoolAsync", "cuMemFreeAsync", "cuCtxGetCurrent"):  # requested without numba's fallback
        setattr(names, name, lambda *given, name=name: (0, getattr(made, name)(*given)))
    fake = SimpleNamespace(driver=made, binding=names, CudaAPIError=OutOfMemory, MemoryPointer=Pointer)
    monkeypatch.setattr(_driver, "api", fake)
    yield made
    gc.collect()  # remaining memory of the test is freed by its own driver


def pool_of():
    """Return a Pool, and numba's pending deallocations."""
    waiting = deque(["an array"])
    return _driver.Pool(SimpleNamespace(device=SimpleNamespace(id=0), handle=7, deallocations=waiting)), waiting


def new_calls(driver):
    """Return the calls since the last time, without queries."""
    calls = [call for call in driver.called if call != "other"]
    driver.called.clear()
    return calls


@pytest.mark.slow
def test_the_last_array_gives_the_memory_back(driver):
    pool, _ = pool_of()
    one, other = pool.take(40), pool.take(50)
    assert new_calls(driver) == ["take", "take"]
    del one
    gc.collect()
    assert new_calls(driver) == ["give"]
    del other
    gc.collect()
    assert new_calls(driver) == ["give", "trim"] and driver.free == 100


@pytest.mark.slow
def test_too_little_memory_is_asked_for_once_more(driver):
    pool, waiting = pool_of()
    held = pool.take(80)
    with pytest.raises(OutOfMemory) as refused:
        pool.take(30)
    assert refused.value.bytes_asked == 30
    assert new_calls(driver) == ["take", "take", "trim", "take"] and not waiting
    assert pool.take(20).size == 20 and held.size == 80


@pytest.mark.slow
def test_a_limit_is_kept(driver, monkeypatch):
    """What is in use counts, what was given back does not."""
    monkeypatch.setenv("GPUKIT_GPU_MEMORY", "60")
    pool, _ = pool_of()
    one, other = pool.take(40), pool.take(20)
    assert pool.taken() == 60
    with pytest.raises(OutOfMemory, match="out of memory: the limit of GPUKIT_GPU_MEMORY") as refused:
        pool.take(1)
    assert refused.value.bytes_asked == 1
    del other
    gc.collect()
    assert pool.taken() == 40 and pool.take(20).size == 20 and one.size == 40


@pytest.mark.parametrize("limit", ["1GiB", "60"])
def test_memory_in_cycles_is_collected(driver, limit, monkeypatch):
    """Also within the limit, below what the driver has."""
    monkeypatch.setenv("GPUKIT_GPU_MEMORY", limit)
    pool, _ = pool_of()
    cycle = [pool.take(60)]
    cycle.append(cycle)
    del cycle
    assert pool.take(60).size == 60


@pytest.mark.slow
def test_memory_goes_back_to_its_own_gpu(driver):
    pool, _ = pool_of()
    one, _other = pool.take(40), pool.take(50)
    driver.current = 8
    del one
    gc.collect()
    assert new_calls(driver) == ["take", "take", "push", "give", "pop"]


@pytest.mark.slow
def test_calls_are_answered_or_fail_as_numbas_do(driver):
    def check(name, answer):
        raise OutOfMemory(name, answer)

    driver._check_cuda_python_error = check
    calls = {"cuGood": lambda *given: (0, sum(given)), "cuBad": lambda: (2, None), "cuDone": lambda: (0,)}
    for name, call in calls.items():
        setattr(_driver.api.binding, name, call)
    assert _driver.call_driver("cuGood", 3, 4) == 7 and _driver.call_driver("cuDone") == 0
    with pytest.raises(OutOfMemory, match="cuBad"):
        _driver.call_driver("cuBad")


@pytest.mark.slow
def test_a_forked_child_gives_nothing_back(driver, monkeypatch):
    pool, _ = pool_of()
    one = pool.take(40)
    monkeypatch.setattr(os, "getpid", lambda: 1)
    del one
    gc.collect()
    assert new_calls(driver) == ["take"]


def test_numbers_of_arguments():
    """Eight bytes each, in numba's types; unknown types are not written."""
    from numba.core import types

    def size(kind):
        return _driver.struct.calcsize("<" + _driver.struct_format(kind))

    assert [size(kind) for kind in (types.int8, types.uint32, types.int64, types.float32, types.boolean)] == [8] * 5
    assert size(types.Array(types.float32, 2, "C")) == 8 * 9
    assert size(types.Tuple([types.int32, types.Array(types.int64, 1, "C")])) == 8 * 8
    with pytest.raises(KeyError):
        _driver.struct_format(types.complex64)


@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.int64])
@pytest.mark.parametrize(
    "shape, strides", [((7,), None), ((5, 3), None), ((0,), None), ((4, 3), (8, 2)), ((4, 3), (0, 1))]
)
def test_the_type_of_an_array_is_numbas(dtype, shape, strides):
    """Also for unusual layouts, and for a second array of a type."""
    size, dtype = np.dtype(dtype).itemsize, np.dtype(dtype)
    strides = tuple(size * step for step in strides) if strides else np.empty(shape, dtype).strides
    for _ in range(2):
        array = DeviceNDArray.__new__(DeviceNDArray)
        array._dummy = dummyarray.Array.from_desc(0, shape, strides, size)
        array.shape, array.strides, array.dtype = shape, strides, dtype
        array.ndim, array.size = len(shape), int(np.prod(shape))
        assert _driver._code_of(array) == array._numba_type_._code == _driver._code_of(array)
