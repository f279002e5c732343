"""Arrays that are large for main memory are in temporary files."""

import errno
import os

import numpy as np
import pytest

from gpukit import device
from gpukit.device import cpu_arrays, memory
from gpukit.errors import DeviceMemoryError


def test_a_quarter_of_the_memory_left_is_large(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 4 * memory.SMALL)
    assert not device.is_large(memory.SMALL)
    monkeypatch.setattr(memory, "available_memory", lambda: 4 * memory.SMALL + 4)
    assert not device.is_large(memory.SMALL + 1) and device.is_large(memory.SMALL + 2)


def test_ulimit_of_data_counts(monkeypatch):
    limits = {memory.resource.RLIMIT_AS: memory.resource.RLIM_INFINITY, memory.resource.RLIMIT_DATA: 1 << 50}
    monkeypatch.setattr(memory.resource, "getrlimit", lambda which: (limits[which],) * 2)
    assert 2**49 < memory._free_to_process() < 2**50


@pytest.mark.parametrize("make", [cpu_arrays.empty, cpu_arrays.zeros])
def test_a_large_array_is_in_a_file_without_a_name(make, monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(memory, "is_large", lambda size: size == 24)
    array = make((3, 2), np.float32)
    assert type(array) is np.ndarray and array.shape == (3, 2) and array.dtype == np.float32 and not array.any()
    assert array.flags.writeable and array.flags.c_contiguous
    assert is_in_file(array) and not is_in_file(make((3, 1), np.float32))
    assert not list(tmp_path.iterdir())
    assert is_in_file(cpu_arrays.owned(np.ones((3, 2), np.float32)))


def is_in_file(array):
    """Return True if an array is in a mapped file."""
    while isinstance(array, np.ndarray) and not isinstance(array, np.memmap):
        array = array.base
    return isinstance(array, np.memmap)


def test_a_full_disk_is_one_line(monkeypatch, tmp_path):
    def reserve(*given):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(os, "posix_fallocate", reserve)
    with pytest.raises(
        DeviceMemoryError, match=rf"0.50 GiB fits neither .* nor in {tmp_path} \(No space left"
    ) as error:
        memory.array_in_file(1 << 29)
    assert "\n" not in str(error.value) and not list(tmp_path.iterdir())
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none"))
    with pytest.raises(DeviceMemoryError, match=r"none \(No such file or directory\). Use less data, or set TMPDIR"):
        memory.array_in_file(1)


def test_more_than_memory_and_disk_is_refused_before_the_work(monkeypatch):
    monkeypatch.setenv("TMPDIR", "/var/tmp")
    monkeypatch.setattr(memory, "available_memory", lambda: 1 << 30)
    monkeypatch.setattr(memory.shutil, "disk_usage", lambda folder: type("Usage", (), {"free": 1 << 30}))
    device.require_room(1 << 30, "It")
    with pytest.warns(UserWarning, match=r"It needs 2.00 GiB, more than .* temporary files in /var/tmp \(TMPDIR\)"):
        device.require_room(2 << 30, "It")
    with pytest.raises(DeviceMemoryError, match=r"It needs 2.00 GiB; 1.00 GiB of main memory and 1.00 GiB of the disk"):
        device.require_room((2 << 30) + 1, "It")
    monkeypatch.setenv("TMPDIR", "/no/folder")
    with pytest.raises(DeviceMemoryError, match="0.00 GiB of the disk of /no/folder are free"):
        device.require_room(2 << 30, "It")
