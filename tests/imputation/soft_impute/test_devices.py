"""Soft-impute's matrix in the simulator against the CPU's.

numpy replaces cupy.
"""

import numpy as np
import pytest
from support import SIMULATED

pytestmark = pytest.mark.kernel

from gpukit._cuda import cuda
from gpukit.imputation.soft_impute import cpu, gpu, iteration
from imputation.soft_impute.test_soft_impute import case
from imputation.spectral.test_gpu_completion import Library


@pytest.fixture
def stand_in(monkeypatch):
    if not SIMULATED:
        pytest.skip("on a GPU test_gpu.py has the same with cupy itself")
    monkeypatch.setattr(gpu, "array_library", Library)
    monkeypatch.setattr(gpu, "shared", lambda array: cuda.cudadrv.devicearray.FakeCUDAArray(np.asarray(array)))
    monkeypatch.setattr(gpu, "BLOCKS", 1)


@pytest.mark.parametrize("whole", [512, 4])
def test_both_devices_agree(whole, stand_in, monkeypatch):
    """Products of the whole matrix, and of a part along singular vectors.

    The vectors are those of the largest singular values. Several steps, with momentum.
    """
    monkeypatch.setattr(iteration, "WHOLE", whole)
    monkeypatch.setattr(iteration, "STEPS", 4)
    truth, seen = case(6, 9, 2)
    known = np.where(seen, truth, 0).astype(np.float32)
    answers = [
        iteration.completed(steps, [steps.DeviceMatrix(known, seen) for _ in range(2)], [0.3, 0.1])
        for steps in (cpu, gpu)
    ]
    for here, there in zip(*answers):
        assert np.abs(here).max() > 0.1
        np.testing.assert_allclose(there, here, atol=1e-4)
