"""The environment of benchmarks in processes."""

import os

import pytest

from gpukit.bench.measurement import environment


@pytest.mark.parametrize("before", [None, "2GiB"])
def test_the_environment_is_restored(before, monkeypatch):
    monkeypatch.delenv("GPUKIT_GPU_MEMORY", raising=False)
    if before:
        monkeypatch.setenv("GPUKIT_GPU_MEMORY", before)
    with pytest.raises(KeyError), environment(GPUKIT_GPU_MEMORY="1000"):
        assert os.environ["GPUKIT_GPU_MEMORY"] == "1000"
        raise KeyError
    with environment(GPUKIT_GPU_MEMORY=None):
        assert "GPUKIT_GPU_MEMORY" not in os.environ
    assert os.environ.get("GPUKIT_GPU_MEMORY") == before
