"""Copies to and from a GPU through page-locked buffers."""

import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

pytestmark = pytest.mark.kernel

from gpukit._cuda import cuda
from gpukit.device import upload as module


@pytest.fixture
def small(monkeypatch):
    """Buffers of 40 bytes, for arrays of any size."""
    module.make_ring.cache_clear()
    monkeypatch.setattr(module, "CHUNK", 40)
    monkeypatch.setattr(module, "LEAST", 1)
    yield
    module.make_ring.cache_clear()


@pytest.mark.parametrize("source, target", [("f4", "f4"), ("f8", "f4"), ("f4", "f8"), ("i8", "f4"), ("i4", "i4")])
@pytest.mark.parametrize("shape", [(1,), (10,), (11,), (7, 9), (2, 3, 5)])
def test_all_numbers_arrive(shape, source, target, small):
    array = (100 * np.random.default_rng(0).normal(size=shape)).astype(source)
    before, out = array.copy(), cuda.device_array(shape, target)
    for turn in range(2):  # the buffers are reused
        module.upload(array, out)
        expected = array.astype(target)
        array[...] = 3  # the upload has ended
        np.testing.assert_array_equal(out.copy_to_host(), expected)
        array[...] = before if turn else -before
    assert out.shape == shape


@pytest.mark.parametrize("least", [0, 1 << 20])
def test_arrays_of_all_shapes_and_types(least, small, monkeypatch):
    monkeypatch.setattr(module, "LEAST", least)
    strided, empty = np.arange(24).reshape(4, 6)[:, ::2], np.zeros((0, 3))
    for array in (np.arange(13, dtype=np.uint8), np.ones((3, 5), np.float16), strided, empty):
        there = module.to_device(array)
        assert there.dtype == array.dtype and there.shape == array.shape
        np.testing.assert_array_equal(there.copy_to_host(), array)


@pytest.mark.parametrize("least", [0, 1 << 20])
@pytest.mark.parametrize("dtype", [np.float32, np.uint8, bool, np.int64, np.float16])
@pytest.mark.parametrize("shape", [(1,), (41,), (83, 3), (2, 0, 5)])
def test_downloads_equal_the_device(shape, dtype, least, small, monkeypatch):
    monkeypatch.setattr(module, "LEAST", least)
    array = np.random.default_rng(1).integers(0, 2 if dtype is bool else 100, shape).astype(dtype)
    there = module.to_device(array)
    out = np.empty(shape, dtype)
    assert module.download(there, out) is out
    for copy in (out, module.download(there)):
        assert copy.dtype == array.dtype
        np.testing.assert_array_equal(copy, array)


def test_a_download_follows_the_kernels_and_uploads_before_it(small):
    """Also of columns, which are not contiguous, and with buffers that an upload has just used."""
    array, out = np.arange(600, dtype=np.float32).reshape(30, 20), cuda.device_array((30, 20), np.float32)
    for turn in range(3):
        module.upload(array + turn, out)
        np.testing.assert_array_equal(module.download(out), array + turn)
        np.testing.assert_array_equal(module.download(out[:, 3]), array[:, 3] + turn)


def test_threads_do_not_mix_their_arrays(small, monkeypatch):
    fill = module.fill

    def slow(chunk, part):
        fill(chunk, part)
        time.sleep(0.01)

    monkeypatch.setattr(module, "fill", slow)
    arrays = [np.full(35, number, np.float32) for number in range(3)]
    outs = [cuda.device_array(35, np.float32) for _ in arrays]
    with ThreadPoolExecutor(3) as users:
        list(users.map(module.upload, arrays, outs))
    for array, out in zip(arrays, outs):
        np.testing.assert_array_equal(out.copy_to_host(), array)


def test_threads_with_a_gpu_each_upload_at_once(small, monkeypatch):
    local, fill, both = threading.local(), module.fill, threading.Barrier(2, timeout=20)

    def together(chunk, part):
        both.wait()  # times out if the uploads do not overlap
        fill(chunk, part)

    def upload(number):
        local.device = SimpleNamespace(id=number)
        out = cuda.device_array(5, np.float32)
        module.upload(np.full(5, number, np.float32), out)
        return out.copy_to_host()

    monkeypatch.setattr(module, "fill", together)
    monkeypatch.setattr(module, "cuda", Devices(local))
    with ThreadPoolExecutor(2) as users:
        outs = list(users.map(upload, range(2)))
    np.testing.assert_array_equal(outs, [np.zeros(5), np.ones(5)])


class Devices:
    """Replacement of numba's cuda in which each thread has a device; all use the memory of one GPU."""

    def __init__(self, local):
        self.local = local

    def get_current_device(self):
        return self.local.device

    @property
    def gpus(self):
        return defaultdict(lambda: cuda.gpus[0])

    def __getattr__(self, name):
        return getattr(cuda, name)


def test_numbers_too_large_become_infinite(small, recwarn):
    out = cuda.device_array(25, np.float32)
    module.upload(np.full(25, 1e300), out)
    assert np.isinf(out.copy_to_host()).all() and not recwarn.list


@pytest.mark.parametrize("array", [np.arange(6.0), np.arange(6.0).reshape(2, 3), np.full((2, 3), 1e300)])
def test_small_arrays_need_no_buffers(array, recwarn):
    out = cuda.device_array((2, 3), np.float32)
    module.upload(array, out)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(out.copy_to_host(), array.astype(np.float32).reshape(2, 3))
    assert not recwarn.list


def test_a_large_array(monkeypatch):
    """More chunks than buffers, of several pieces each."""
    monkeypatch.setattr(module, "CHUNK", 8 * module.PIECE)
    module.make_ring.cache_clear()
    array = np.random.default_rng(0).normal(size=(529, 1025))
    out = cuda.device_array(array.shape, np.float32)
    module.upload(array, out)
    np.testing.assert_array_equal(out.copy_to_host(), array.astype(np.float32))
    np.testing.assert_array_equal(module.download(out[:300]), array[:300].astype(np.float32))
    module.make_ring.cache_clear()
