"""Initialization of the driver and the GPU in a thread."""

import contextlib
import sys
import threading
from types import SimpleNamespace

import pytest

from gpukit.device import place
from gpukit.errors import DeviceError, ParameterError


def warm_up_gpu(monkeypatch, index, gpu):
    """Run start_warm_up for GPU number index until its thread ends."""
    monkeypatch.setattr(place, "number_of", lambda spec: index)
    monkeypatch.setattr(place, "gpu", gpu)
    before = set(threading.enumerate())
    place.start_warm_up("auto")
    for thread in set(threading.enumerate()) - before:
        thread.join()


def test_a_gpu_is_made_current_in_a_new_thread(monkeypatch):
    calls = []
    warm_up_gpu(monkeypatch, 3, lambda index: calls.append((index, threading.current_thread())))
    assert [index for index, _ in calls] == [3] and calls[0][1] is not threading.current_thread()


def test_the_cpu_needs_no_thread(monkeypatch):
    warm_up_gpu(monkeypatch, None, lambda index: pytest.fail("there is no GPU to initialize"))


def test_errors_in_the_thread_are_left_to_the_first_user(monkeypatch, capfd):
    def fail(index):
        raise DeviceError("the GPU is lost")

    warm_up_gpu(monkeypatch, 0, fail)
    assert capfd.readouterr() == ("", "")


def test_a_missing_device_is_an_error_at_once(monkeypatch):
    monkeypatch.setattr("gpukit.device.place.gpu_count", lambda: 1)
    with pytest.raises(DeviceError, match="only 1 GPU"):
        place.start_warm_up("cuda:1")
    with pytest.raises(ParameterError, match="must be auto"):
        place.start_warm_up("gpu")


@pytest.mark.parametrize("products, loaded", [(False, []), (True, [3])])
def test_cupy_is_loaded_for_products_alone(monkeypatch, products, loaded):
    devices = []

    class Cupy:
        float32 = "f"
        cuda = SimpleNamespace(Device=lambda index: devices.append(index) or contextlib.nullcontext())
        zeros = staticmethod(lambda *_: SimpleNamespace(__matmul__=None))

    monkeypatch.setitem(sys.modules, "cupy", Cupy)
    monkeypatch.setattr(place, "gpu", lambda index: None)
    monkeypatch.setattr("gpukit.device.upload.current_ring", lambda: None)
    place.initialize_gpu(3, products)
    assert devices == loaded


@pytest.mark.parametrize("spec, is_started", [("auto", True), ("cuda:1", True), ("cpu", False)])
def test_the_driver_is_started_except_for_the_cpu(monkeypatch, spec, is_started):
    called = threading.Event()

    class Driver:
        def __init__(self, name):
            assert name == place.DRIVER

        def cuInit(self, flags):
            called.set()

    monkeypatch.setattr(place.ctypes, "CDLL", Driver)
    place.start_driver(spec)
    assert called.wait(5.0 if is_started else 0.05) == is_started


def test_a_missing_driver_is_left_to_the_first_user(monkeypatch, capfd):
    monkeypatch.setattr(place, "DRIVER", "libcuda-of-nobody.so")
    place.initialize_driver()
    assert capfd.readouterr() == ("", "")


@pytest.mark.kernel
def test_upload_buffers_exist_before_the_first_upload(monkeypatch):
    from gpukit.device import upload

    upload.make_ring.cache_clear()
    warm_up_gpu(monkeypatch, 0, lambda index: None)
    assert upload.make_ring.cache_info().currsize == 1
    upload.make_ring.cache_clear()
