"""Epochs with less GPU memory: what needs no GPU."""

import os
from types import SimpleNamespace

import pytest

from gpukit.bench import Conditions, streaming
from gpukit.device import cpu


def test_without_a_gpu_there_are_no_rows():
    assert list(streaming.out_of_core(Conditions(cpu()))) == []


@pytest.mark.parametrize("before", [None, "2GiB"])
def test_the_limit_is_restored(before, monkeypatch):
    monkeypatch.delenv("GPUKIT_GPU_MEMORY", raising=False)
    if before:
        monkeypatch.setenv("GPUKIT_GPU_MEMORY", before)
    with pytest.raises(KeyError), streaming.limited_memory(1000):
        assert os.environ["GPUKIT_GPU_MEMORY"] == "1000"
        raise KeyError
    with streaming.limited_memory(None):
        assert "GPUKIT_GPU_MEMORY" not in os.environ
    assert os.environ.get("GPUKIT_GPU_MEMORY") == before


def test_the_note_of_a_row():
    blocks = [SimpleNamespace(kept=kept) for kept in (True, False, False, False)]
    training = SimpleNamespace(blocks=blocks, bytes_sent=3 * 10**8, packing=SimpleNamespace(packed=3))
    result = streaming.StreamedEpochs([9.0, 6.0, 7.0], 0.91234, 9, training)
    whole = streaming.StreamedEpochs([5.0, 4.0, 9.0], 0.91111, 9, None)
    assert streaming.describe(result, whole, 500 << 20) == (
        "500 MiB; 1.40 times the 5.00 ms in enough memory; 0.30 GB an epoch at 42.9 GB/s; 3 bytes a rating; 1 of 4 "
        "blocks stay on the GPU; RMSE 0.9123, in enough memory 0.9111"
    )
