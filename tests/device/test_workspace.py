"""What a run keeps on its devices, and for how long."""

import contextlib
import gc
import weakref

import pytest

from gpukit.device import workspace as module
from gpukit.device.workspace import Workspace


class Buffer:
    """Stands for device memory of a size: what matters is whether anybody still holds it."""

    def __init__(self, size):
        self.size = size


def kept(workspace, name, size):
    """A buffer of that size from the workspace."""
    return workspace.keep(name, lambda buffer: buffer.size >= size, lambda: Buffer(size))


@pytest.fixture
def gpu(monkeypatch):
    """The number of the current GPU, to be changed; what is released is written down."""

    class Gpu:
        number, released = 0, []

    monkeypatch.setattr(module, "_current_gpu", lambda: Gpu.number)
    monkeypatch.setattr(module, "_release", Gpu.released.append)
    Gpu.released.clear()
    return Gpu


def held(reference):
    gc.collect()
    return reference() is not None


def test_a_buffer_that_fits_is_used_again(gpu):
    workspace = Workspace()
    first = kept(workspace, "sums", 3)
    assert kept(workspace, "sums", 3) is first and kept(workspace, "sums", 2) is first
    assert kept(workspace, "others", 3) is not first
    larger = kept(workspace, "sums", 4)
    assert larger.size == 4 and kept(workspace, "sums", 3) is larger


@pytest.mark.slow
def test_the_old_one_is_let_go_before_the_new_one_is_made(gpu):
    workspace = Workspace()
    old = weakref.ref(kept(workspace, "sums", 3))
    seen = []
    workspace.keep("sums", lambda _: False, lambda: seen.append(held(old)) or Buffer(4))
    assert seen == [False]


def test_what_fails_to_be_made_is_not_kept(gpu):
    def fail():
        raise MemoryError

    workspace = Workspace()
    with pytest.raises(MemoryError):
        workspace.keep("sums", lambda _: True, fail)
    assert kept(workspace, "sums", 3).size == 3


def test_each_gpu_has_its_own(gpu):
    workspace = Workspace()
    first = kept(workspace, "sums", 3)
    gpu.number = 1
    second = kept(workspace, "sums", 3)
    gpu.number = 0
    assert second is not first and kept(workspace, "sums", 3) is first
    workspace.close()
    assert sorted(gpu.released) == [0, 1]


def test_each_workspace_has_its_own(gpu):
    assert kept(Workspace(), "sums", 3) is not kept(Workspace(), "sums", 3)


@pytest.mark.slow
@pytest.mark.parametrize("failure", [None, ValueError])
def test_nothing_outlives_the_run(failure, gpu):
    references, workspace = [], Workspace()

    def run():
        with workspace:
            references.append(weakref.ref(kept(workspace, "sums", 3)))
            if failure:
                raise failure

    with pytest.raises(failure) if failure else contextlib.nullcontext():
        run()
    assert not held(references[0]) and gpu.released == [0]


def test_a_run_that_kept_nothing_asks_no_gpu(monkeypatch):
    asked = []
    monkeypatch.setattr(module, "_current_gpu", lambda: asked.append("current"))
    monkeypatch.setattr(module, "_release", asked.append)
    with Workspace():
        pass
    assert not asked
