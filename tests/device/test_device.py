"""Where the work runs: what may be asked for, what is answered without a GPU, and what memory errors say."""

import os
import re

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
    cpu = device.resolve("cpu")
    device.require_memory(cpu, 1 << 60, "anything")
    assert device.memory.free_memory(cpu) is None


def test_main_memory_is_asked_about_before_large_work(monkeypatch):
    monkeypatch.setattr(device.memory, "available_memory", lambda: 1 << 30)
    device.require_host(1 << 30, "reading")
    device.require_host(device.memory.SMALL, "reading")
    with pytest.raises(DeviceMemoryError, match=r"reading needs 4\.00 GiB of main memory, of which 1\.00 GiB are free"):
        device.require_host(4 << 30, "reading")
    assert DeviceMemoryError.exit_code == 1


@pytest.mark.parametrize(
    "files, left",
    [
        ({"memory.max": "max\n", "memory.current": "5\n"}, float("inf")),
        ({"memory.max": "1000\n", "memory.current": "600\n"}, 400),
        ({"memory.max": "1000\n", "memory.current": "600\n", "memory.stat": "anon 1\ninactive_file 50\n"}, 450),
        ({"memory/memory.limit_in_bytes": "1000\n", "memory/memory.usage_in_bytes": "1\n"}, 999),
        ({}, float("inf")),
    ],
)
def test_what_a_control_group_leaves(tmp_path, monkeypatch, files, left):
    (tmp_path / "memory").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(device.memory, "GROUP", tmp_path)
    assert device.memory._of_group() == left
    assert device.available_memory() <= left


def test_what_a_limit_of_the_process_leaves(monkeypatch):
    assert 2**27 < device.available_memory() < 2**45
    monkeypatch.setattr(device.memory.resource, "getrlimit", lambda _: (1 << 50, 1 << 50))
    assert 2**49 < device.memory._of_process() < 2**50


@pytest.mark.parametrize(
    "error, said",
    [
        (MemoryError(), "Out of memory; "),
        (MemoryError("Unable to allocate 22.7 GiB"), r"Out of memory \(Unable to allocate 22.7 GiB\); "),
        (OSError(12, "Cannot allocate memory"), "Cannot allocate memory"),
        (ImportError("lib.so: failed to map segment from shared object"), "failed to map"),
        (RuntimeError("can't start new thread"), "new thread"),
    ],
)
def test_too_little_memory_is_told_in_one_line(error, said):
    line = device.memory.ran_out(error)
    assert re.search(said, line) and "GiB of main memory are left" in line and "\n" not in line


@pytest.mark.parametrize("error", [ImportError("no such module"), OSError(2, "No such file"), ValueError("allocate")])
def test_other_errors_are_none_of_memory(error):
    assert device.memory.ran_out(error) is None


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
    assert error.__traceback__ is None  # the frames that hold what lies on the device are gone


@pytest.mark.parametrize(
    "error, asked", list(zip(OUT_OF_MEMORY, ["", "7.45 GiB more asked for, ", "0.00 GiB more asked for, ", ""]))
)
def test_what_was_asked_for_is_told_where_it_is_known(monkeypatch, error, asked):
    monkeypatch.setattr(device.memory, "free_memory", lambda _: 1 << 30)
    with pytest.raises(DeviceMemoryError, match=rf"\({asked}1\.00 GiB free\)"), device.reported(GPU, "uploading"):
        raise error


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


def test_threads_of_the_cpu(monkeypatch):
    monkeypatch.setattr("gpukit.runtime.thread_count._setting.count", 3)
    assert str(device.cpu()) == "cpu (3 threads)"
    monkeypatch.setattr("gpukit.runtime.thread_count._setting.count", 1)
    assert str(device.cpu()) == "cpu (1 thread)"


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
