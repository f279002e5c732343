"""Smoothness on a GPU, or in the simulator, against the CPU."""

import numpy as np
import pytest

pytestmark = pytest.mark.kernel

from gpukit.device import resolve
from gpukit.imputation.smoothness import method
from gpukit.imputation.smoothness.method import ConjugateGradients, Weights, solve
from imputation.smoothness import inputs


def test_both_devices_agree(monkeypatch):
    monkeypatch.setattr(method, "BLOCKS", 2)
    observed, start = inputs.observed(4, 9, (1, 3))[0], np.zeros((4, 9), np.float32)
    answers = []
    for device in ("cpu", "cuda"):
        solver = ConjugateGradients(resolve(device), observed, start)
        assert solve(solver, Weights(0.2, 0.3, 0.4, (0.1,)), 2e-4, steps=2) == 2
        answers.append(solver.solution())
    np.testing.assert_allclose(answers[1], answers[0], atol=1e-5)
