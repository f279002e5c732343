"""Device selection with and without a GPU, and the messages of memory errors."""

import os
import re
from types import SimpleNamespace

import pytest
from support import SIMULATED

from gpukit import device
from gpukit.device import Device, capability_of
from gpukit.errors import DeviceError, DeviceMemoryError, ParameterError

GPU = Device("cuda", 1, "NVIDIA H200", (9, 0))


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(device.place, "gpu_count", lambda: 0)


@pytest.fixture
def two_gpus(monkeypatch):
    monkeypatch.setattr(device.place, "gpu_count", lambda: 2)
    monkeypatch.setattr(device.place, "gpu", lambda index: Device("cuda", index, "Fake", (9, 0)))


def test_the_cpu_always_exists():
    cpu = device.resolve("cpu")
    assert not cpu.is_cuda and str(cpu).startswith("cpu (") and device.free_memory(cpu) is None


def test_auto_without_a_gpu_is_the_cpu(no_gpu):
    assert device.resolve("auto").kind == "cpu"


@pytest.mark.parametrize("spec", ["cuda", "cuda:0", "cuda:3"])
def test_a_missing_gpu_is_an_error(no_gpu, spec):
    with pytest.raises(DeviceError, match=rf"{spec} is not available: no CUDA GPU.*--device cpu.*pip install"):
        device.resolve(spec)


def test_a_gpu_is_chosen_by_number(two_gpus):
    assert device.resolve("auto").index == 0
    assert device.resolve("cuda:1").index == 1
    assert str(device.resolve("cuda:1")) == "cuda:1 (Fake)"
    with pytest.raises(DeviceError, match="only 2 GPU"):
        device.resolve("cuda:2")


@pytest.mark.parametrize("spec", ["gpu", "cuda:x", "cuda:-1", "cpu:0", "auto:1", "", None])
def test_invalid_specs(no_gpu, spec):
    with pytest.raises(ParameterError, match="auto, cpu, cuda or cuda:N"):
        device.resolve(spec)


def test_a_device_passes_through():
    assert device.resolve(GPU) is GPU


def test_device_memory_is_checked(monkeypatch):
    monkeypatch.setattr(device.memory, "_free_on_gpu", lambda: 3 << 30)
    device.require_memory(GPU, 2 << 30, "training")
    with pytest.raises(
        DeviceMemoryError, match=r"training needs 4\.00 GiB on cuda:1 \(NVIDIA H200\), which has 3\.00 GiB"
    ):
        device.require_memory(GPU, 4 << 30, "training")


@pytest.mark.kernel
def test_a_limit_of_device_memory(monkeypatch):
    """A limit counts instead of the free memory if it is smaller; an eighth of it is for small arrays."""
    one = device.resolve("cuda")
    free = device.free_memory(one)
    monkeypatch.setenv("GPUKIT_GPU_MEMORY", "8MiB")
    assert device.free_memory(one) <= 8 << 20 and device.spare_memory() == device.free_memory(one) - (1 << 20)
    with pytest.raises(DeviceMemoryError, match=r"training needs 0\.01 GiB on .*, which has 0\.01 GiB free"):
        device.require_memory(one, (7 << 20) + 1, "training")
    monkeypatch.setenv("GPUKIT_GPU_MEMORY", str(1 << 50))
    assert abs(device.free_memory(one) - free) < 64 << 20


def test_the_cpu_is_not_limited():
    cpu = device.resolve("cpu")
    device.require_memory(cpu, 1 << 60, "anything")
    assert device.memory.free_memory(cpu) is None


def test_main_memory_is_checked_for_large_needs(monkeypatch):
    monkeypatch.setattr(device.memory, "available_memory", lambda: 1 << 30)
    device.require_host(1 << 30, "reading")
    device.require_host(device.memory.SMALL, "reading")
    with pytest.raises(DeviceMemoryError, match=r"reading needs 4\.00 GiB of main memory; 1\.00 GiB are free"):
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
def test_memory_left_in_a_control_group(tmp_path, monkeypatch, files, left):
    (tmp_path / "memory").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(device.memory, "GROUP", tmp_path)
    assert device.memory._free_in_group() == left
    assert device.available_memory() <= left


def test_memory_left_by_a_limit_of_the_process(monkeypatch):
    assert 2**27 < device.available_memory() < 2**45
    monkeypatch.setattr(device.memory.resource, "getrlimit", lambda _: (1 << 50, 1 << 50))
    assert 2**49 < device.memory._free_to_process() < 2**50


@pytest.mark.parametrize(
    "error, pattern",
    [
        (MemoryError(), "Out of memory; "),
        (MemoryError("Unable to allocate 22.7 GiB"), r"Out of memory \(Unable to allocate 22.7 GiB\); "),
        (OSError(12, "Cannot allocate memory"), "Cannot allocate memory"),
        (ImportError("lib.so: failed to map segment from shared object"), "failed to map"),
        (RuntimeError("can't start new thread"), "new thread"),
    ],
)
def test_too_little_memory_is_one_line(error, pattern):
    line = device.memory.describe_out_of_memory(error)
    assert re.search(pattern, line) and "GiB of main memory are left" in line and "\n" not in line


@pytest.mark.parametrize("error", [ImportError("no such module"), OSError(2, "No such file"), ValueError("allocate")])
def test_other_errors_have_no_line(error):
    assert device.memory.describe_out_of_memory(error) is None


class CupyError(MemoryError):
    """Replacement of cupy.cuda.memory.OutOfMemoryError."""


OUT_OF_MEMORY = [
    RuntimeError("[CUresult.CUDA_ERROR_OUT_OF_MEMORY] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY"),
    CupyError("Out of memory allocating 8,000,000,512 bytes (allocated so far: 512 bytes)."),
    CupyError("Out of memory allocating 9,728 bytes (allocated so far: 512 bytes, limit set to: 1,024 bytes)."),
    RuntimeError("cudaErrorMemoryAllocation: out of memory"),
]


@pytest.mark.parametrize("error", OUT_OF_MEMORY)
def test_out_of_memory_is_translated(monkeypatch, error):
    monkeypatch.setattr(device.memory, "free_memory", lambda _: 1 << 30)
    with (
        pytest.raises(DeviceMemoryError, match=r"uploading ran out of memory .*1\.00 GiB free") as raised,
        device.translate_memory_errors(GPU, "training"),
        device.translate_memory_errors(GPU, "uploading"),
    ):
        raise error
    assert raised.value.__cause__ is error
    assert error.__traceback__ is None  # no frame holds device arrays


@pytest.mark.parametrize(
    "error, size", list(zip(OUT_OF_MEMORY, ["", "7.45 GiB more asked for, ", "0.00 GiB more asked for, ", ""]))
)
def test_the_requested_size_is_in_the_message(monkeypatch, error, size):
    monkeypatch.setattr(device.memory, "free_memory", lambda _: 1 << 30)
    with (
        pytest.raises(DeviceMemoryError, match=rf"\({size}1\.00 GiB free\)"),
        device.translate_memory_errors(GPU, "uploading"),
    ):
        raise error


@pytest.mark.parametrize(
    "where, error",
    [
        *((Device("cpu", 0, "cpu (2 threads)"), error) for error in OUT_OF_MEMORY),
        (GPU, MemoryError("Unable to allocate 80.0 GiB for an array with shape (10000000000,) and data type float64")),
    ],
)
def test_errors_of_main_memory_are_not_converted(where, error):
    with pytest.raises(type(error)) as raised, device.translate_memory_errors(where, "uploading"):
        raise error
    assert raised.value is error


def test_threads_of_the_cpu(monkeypatch):
    monkeypatch.setattr("gpukit.runtime.thread_count._setting.count", 3)
    assert str(device.cpu()) == "cpu (3 threads)"
    monkeypatch.setattr("gpukit.runtime.thread_count._setting.count", 1)
    assert str(device.cpu()) == "cpu (1 thread)"


def test_other_errors_pass():
    with pytest.raises(RuntimeError, match="^other$"), device.translate_memory_errors(GPU, "uploading"):
        raise RuntimeError("other")


@pytest.mark.gpu
@pytest.mark.skipif(SIMULATED, reason="not a GPU")
def test_a_real_gpu_has_a_name_and_memory():
    gpu = device.resolve("cuda")
    assert gpu.is_cuda and gpu.name and gpu.capability >= (7, 0)
    assert device.free_memory(gpu) > 1 << 28


@pytest.mark.kernel
def test_a_process_forked_after_a_gpu_was_used_is_an_error(monkeypatch):
    place = device.place
    assert place.gpu(0).is_cuda and place.gpu(0).is_cuda
    monkeypatch.setitem(place._first_used_in, "process", os.getppid())
    with pytest.raises(DeviceError, match="forked from one that uses a GPU .*'spawn'"):
        place.gpu(0)


def test_the_compute_capability_is_known_before_the_gpu_is_used(two_gpus, monkeypatch):
    assert capability_of("cpu") is None and capability_of(device.cpu()) is None and capability_of(GPU) == (9, 0)
    gpus = [SimpleNamespace(compute_capability=(7, 5)), SimpleNamespace(compute_capability=(9, 0))]
    monkeypatch.setattr("gpukit._cuda.cuda", SimpleNamespace(gpus=gpus))
    assert capability_of("auto") == capability_of("cuda") == (7, 5) and capability_of("cuda:1") == (9, 0)
    with pytest.raises(DeviceError, match="only 2"):
        capability_of("cuda:2")
