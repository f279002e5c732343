"""The local regression's steps on a GPU, or in the simulator, against the CPU."""

import numpy as np
import pytest

pytestmark = pytest.mark.kernel

from gpukit.imputation.local import cpu, gpu, regression
from imputation.local import inputs


def test_both_devices_agree(monkeypatch):
    monkeypatch.setattr(gpu, "BLOCKS", 2)
    features, targets, first, start, pull, group = inputs.groups([9, 0, 4], 3)
    answers = []
    for steps in (cpu, gpu):
        order = np.arange(len(targets))[::-1]
        there = steps.join([steps.to_device(features[:5]), steps.to_device(features[5:])], order)
        values = regression.Sorted(there, targets[order], first)
        found = regression.regress(steps, values, start, pull, group, 2)
        which = np.zeros(len(targets), np.int32)
        answers.append([found, steps.predict(there, steps.to_device(targets), which, found)])
    for mine, other in zip(*answers):
        np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-6)
