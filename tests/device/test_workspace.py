"""Lifetime of the device memory of a run."""

import contextlib
import gc
import weakref

import pytest

from gpukit.device import workspace as module
from gpukit.device.workspace import Workspace


class Buffer:
    """Replacement of device memory; the tests check whether references to it remain."""

    def __init__(self, size):
        self.size = size


def get_buffer(workspace, name, size):
    """Return a buffer of that size from the workspace."""
    return workspace.keep(name, lambda buffer: buffer.size >= size, lambda: Buffer(size))


@pytest.fixture
def gpu(monkeypatch):
    """Settable number of the current GPU, and the numbers of released GPUs."""

    class Gpu:
        number, released = 0, []

    monkeypatch.setattr(module, "_current_gpu", lambda: Gpu.number)
    monkeypatch.setattr(module, "_release", Gpu.released.append)
    Gpu.released.clear()
    return Gpu


def is_alive(reference):
    gc.collect()
    return reference() is not None


def test_a_buffer_that_fits_is_reused(gpu):
    workspace = Workspace()
    first = get_buffer(workspace, "sums", 3)
    assert get_buffer(workspace, "sums", 3) is first and get_buffer(workspace, "sums", 2) is first
    assert get_buffer(workspace, "others", 3) is not first
    larger = get_buffer(workspace, "sums", 4)
    assert larger.size == 4 and get_buffer(workspace, "sums", 3) is larger


@pytest.mark.slow
def test_the_old_buffer_is_released_before_the_new_one_is_made(gpu):
    workspace = Workspace()
    old = weakref.ref(get_buffer(workspace, "sums", 3))
    alive = []
    workspace.keep("sums", lambda _: False, lambda: alive.append(is_alive(old)) or Buffer(4))
    assert alive == [False]


def test_a_failed_allocation_leaves_no_buffer(gpu):
    def fail():
        raise MemoryError

    workspace = Workspace()
    with pytest.raises(MemoryError):
        workspace.keep("sums", lambda _: True, fail)
    assert get_buffer(workspace, "sums", 3).size == 3


def test_each_gpu_has_its_own(gpu):
    workspace = Workspace()
    first = get_buffer(workspace, "sums", 3)
    gpu.number = 1
    second = get_buffer(workspace, "sums", 3)
    gpu.number = 0
    assert second is not first and get_buffer(workspace, "sums", 3) is first
    workspace.close()
    assert sorted(gpu.released) == [0, 1]


def test_each_workspace_has_its_own(gpu):
    assert get_buffer(Workspace(), "sums", 3) is not get_buffer(Workspace(), "sums", 3)


@pytest.mark.slow
@pytest.mark.parametrize("failure", [None, ValueError])
def test_nothing_outlives_the_run(failure, gpu):
    references, workspace = [], Workspace()

    def run():
        with workspace:
            references.append(weakref.ref(get_buffer(workspace, "sums", 3)))
            if failure:
                raise failure

    with pytest.raises(failure) if failure else contextlib.nullcontext():
        run()
    assert not is_alive(references[0]) and gpu.released == [0]


def test_an_empty_workspace_uses_no_gpu(monkeypatch):
    calls = []
    monkeypatch.setattr(module, "_current_gpu", lambda: calls.append("current"))
    monkeypatch.setattr(module, "_release", calls.append)
    with Workspace():
        pass
    assert not calls
