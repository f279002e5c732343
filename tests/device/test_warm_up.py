"""A GPU that is made ready while others read."""

import threading

import pytest

from gpukit.device import warm_up
from gpukit.errors import DeviceError, ParameterError


def begun(monkeypatch, index, gpu):
    """What begin starts for a GPU of that number, once it has ended."""
    monkeypatch.setattr(warm_up, "number_of", lambda spec: index)
    monkeypatch.setattr(warm_up, "gpu", gpu)
    before = set(threading.enumerate())
    warm_up.begin("auto")
    for thread in set(threading.enumerate()) - before:
        thread.join()


def test_a_gpu_is_made_current_by_a_thread_of_its_own(monkeypatch):
    seen = []
    begun(monkeypatch, 3, lambda index: seen.append((index, threading.current_thread())))
    assert [index for index, _ in seen] == [3] and seen[0][1] is not threading.current_thread()


def test_the_cpu_needs_no_thread(monkeypatch):
    begun(monkeypatch, None, lambda index: pytest.fail("there is no GPU to make ready"))


def test_what_goes_wrong_meanwhile_is_told_by_who_needs_it(monkeypatch, capfd):
    def gone(index):
        raise DeviceError("the GPU is lost")

    begun(monkeypatch, 0, gone)
    assert capfd.readouterr() == ("", "")


def test_what_there_is_not_is_told_at_once(monkeypatch):
    monkeypatch.setattr("gpukit.device.place.gpu_count", lambda: 1)
    with pytest.raises(DeviceError, match="only 1 GPU"):
        warm_up.begin("cuda:1")
    with pytest.raises(ParameterError, match="must be auto"):
        warm_up.begin("gpu")


@pytest.mark.parametrize("spec, asked", [("auto", True), ("cuda:1", True), ("cpu", False)])
def test_the_driver_is_woken_unless_the_cpu_serves(monkeypatch, spec, asked):
    called = threading.Event()

    class Driver:
        def __init__(self, name):
            assert name == warm_up.DRIVER

        def cuInit(self, flags):
            called.set()

    monkeypatch.setattr(warm_up.ctypes, "CDLL", Driver)
    warm_up.wake(spec)
    assert called.wait(5.0 if asked else 0.05) == asked


def test_a_driver_that_is_not_there_is_told_by_who_needs_it(monkeypatch, capfd):
    monkeypatch.setattr(warm_up, "DRIVER", "libcuda-of-nobody.so")
    warm_up.woken()
    assert capfd.readouterr() == ("", "")


@pytest.mark.kernel
def test_the_buffers_of_uploads_are_there_before_the_first(monkeypatch):
    from gpukit.device import upload

    upload.ring.cache_clear()
    begun(monkeypatch, 0, lambda index: None)
    assert upload.ring.cache_info().currsize == 1
    upload.ring.cache_clear()
