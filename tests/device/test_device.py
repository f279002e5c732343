"""Where the work runs: what may be asked for, what is answered without a GPU, and what memory errors say."""

import os

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


class CupysError(MemoryError):
    """As cupy.cuda.memory.OutOfMemoryError is one."""


OUT_OF_MEMORY = [
    RuntimeError("[CUresult.CUDA_ERROR_OUT_OF_MEMORY] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY"),
    CupysError("Out of memory allocating 8,000,000,512 bytes (allocated so far: 512 bytes)."),
    CupysError("Out of memory allocating 9,728 bytes (allocated so far: 512 bytes, limit set to: 1,024 bytes)."),
    RuntimeError("cudaErrorMemoryAllocation: out of memory"),
]


@pytest.mark.parametrize("error", OUT_OF_MEMORY)
def test_out_of_memory_is_translated(monkeypatch, error):
    monkeypatch.setattr(device.memory, "free_memory", lambda _: 1 << 30)
    with (
        pytest.raises(DeviceMemoryError, match=r"uploading ran out of memory .*1\.00 GiB free") as found,
        device.reported(GPU, "training"),
        device.reported(GPU, "uploading"),
    ):
        raise error
    assert found.value.__cause__ is error


@pytest.mark.parametrize(
    "where, error",
    [
        *((Device("cpu", 0, "cpu (2 threads)"), error) for error in OUT_OF_MEMORY),
        (GPU, MemoryError("Unable to allocate 80.0 GiB for an array with shape (10000000000,) and data type float64")),
    ],
)
def test_the_hosts_memory_is_not_the_devices(where, error):
    with pytest.raises(type(error)) as found, device.reported(where, "uploading"):
        raise error
    assert found.value is error


@pytest.mark.parametrize("asked, found", [(None, 3), ("7", 7), ("", 3)])
@pytest.mark.parametrize("knows_affinity", [True, False])
def test_threads_of_the_cpu(monkeypatch, asked, found, knows_affinity):
    if knows_affinity:
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 5}, raising=False)
    else:
        monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 99 if knows_affinity else 3)
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    if asked is not None:
        monkeypatch.setenv("NUMBA_NUM_THREADS", asked)
    assert str(device.cpu()) == f"cpu ({found} threads)"


def test_other_errors_pass():
    with pytest.raises(RuntimeError, match="^other$"), device.reported(GPU, "uploading"):
        raise RuntimeError("other")


@pytest.mark.gpu
@pytest.mark.skipif(SIMULATED, reason="not a GPU")
def test_a_real_gpu_has_a_name_and_memory():
    gpu = device.resolve("cuda")
    assert gpu.is_cuda and gpu.name and gpu.capability >= (7, 0)
    assert device.free_memory(gpu) > 1 << 28


@pytest.mark.kernel
def test_a_process_forked_after_a_gpu_was_used_is_told(monkeypatch):
    place = device.place
    assert place.gpu(0).is_cuda and place.gpu(0).is_cuda
    monkeypatch.setitem(place._first_used_in, "process", os.getppid())
    with pytest.raises(DeviceError, match="forked from one that uses a GPU .*'spawn'"):
        place.gpu(0)
