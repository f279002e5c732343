"""Where the work runs: what may be asked for, what is answered without a GPU, and what memory errors say."""

import pytest
from support import SIMULATED

from gpukit import device
from gpukit.device import Device
from gpukit.errors import DeviceError, DeviceMemoryError, ParameterError

GPU = Device("cuda", 1, "NVIDIA H200", (9, 0))


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(device.place, "gpu_count", lambda: 0)


@pytest.fixture
def two_gpus(monkeypatch):
    monkeypatch.setattr(device.place, "gpu_count", lambda: 2)
    monkeypatch.setattr(device.place, "gpu", lambda index: Device("cuda", index, "Fake", (9, 0)))


def test_the_cpu_is_always_there():
    cpu = device.resolve("cpu")
    assert not cpu.is_cuda and str(cpu).startswith("cpu (") and device.free_memory(cpu) is None


def test_auto_without_a_gpu_is_the_cpu(no_gpu):
    assert device.resolve("auto").kind == "cpu"


@pytest.mark.parametrize("spec", ["cuda", "cuda:0", "cuda:3"])
def test_a_gpu_that_is_not_there_is_an_error(no_gpu, spec):
    with pytest.raises(DeviceError, match=rf"{spec} was asked for.*--device cpu.*pip install"):
        device.resolve(spec)


def test_the_gpu_asked_for(two_gpus):
    assert device.resolve("auto").index == 0
    assert device.resolve("cuda:1").index == 1
    assert str(device.resolve("cuda:1")) == "cuda:1 (Fake)"
    with pytest.raises(DeviceError, match="only 2 GPU"):
        device.resolve("cuda:2")


@pytest.mark.parametrize("spec", ["gpu", "cuda:x", "cuda:-1", "cpu:0", "auto:1", "", None])
def test_specs_that_mean_nothing(no_gpu, spec):
    with pytest.raises(ParameterError, match="auto, cpu, cuda or cuda:N"):
        device.resolve(spec)


def test_a_device_passes_through():
    assert device.resolve(GPU) is GPU


def test_memory_is_checked_before_the_work(monkeypatch):
    monkeypatch.setattr(device.memory, "free_memory", lambda _: 3 << 30)
    device.require_memory(GPU, 2 << 30, "training")
    with pytest.raises(
        DeviceMemoryError, match=r"training needs 4\.00 GiB on cuda:1 \(NVIDIA H200\), which has 3\.00 GiB"
    ):
        device.require_memory(GPU, 4 << 30, "training")


def test_the_cpu_is_not_limited():
    device.require_memory(device.resolve("cpu"), 1 << 60, "anything")


def test_out_of_memory_is_translated(monkeypatch):
    monkeypatch.setattr(device.memory, "free_memory", lambda _: 1 << 30)
    with (
        pytest.raises(DeviceMemoryError, match=r"uploading ran out of memory .*1\.00 GiB free"),
        device.reported(GPU, "uploading"),
    ):
        raise RuntimeError("[2] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY")


def test_other_errors_pass():
    with pytest.raises(RuntimeError, match="^other$"), device.reported(GPU, "uploading"):
        raise RuntimeError("other")


@pytest.mark.gpu
@pytest.mark.skipif(SIMULATED, reason="not a GPU")
def test_a_real_gpu_has_a_name_and_memory():
    gpu = device.resolve("cuda")
    assert gpu.is_cuda and gpu.name and gpu.capability >= (7, 0)
    assert device.free_memory(gpu) > 1 << 28
