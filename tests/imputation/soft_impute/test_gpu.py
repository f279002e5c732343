"""Soft-impute on a GPU against the CPU.

Small matrices run on the CPU, so none is small here.
"""

import numpy as np
import pytest

from gpukit.device import resolve
from gpukit.imputation.soft_impute import iteration, method
from imputation.soft_impute.test_soft_impute import asked, case

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("whole", [512, 4])
def test_both_devices_agree(whole, monkeypatch):
    monkeypatch.setattr(iteration, "WHOLE", whole)
    monkeypatch.setattr(method, "SMALL", 0)
    problems = [asked(*(part[:, :m] for part in case())) for m in (50, 40, 20)]
    there = [one._replace(place=one.place.__class__(device=resolve("cuda"))) for one in problems]
    for found, expected in zip(method.fill_all(there, [0.1] * 3), method.fill_all(problems, [0.1] * 3)):
        np.testing.assert_allclose(found, expected, atol=1e-3)
