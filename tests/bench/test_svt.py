"""The benchmark of the thresholding."""

import numpy as np
import pytest

from gpukit import bench, device
from gpukit.bench import svt
from gpukit.bench.setting import Setting
from gpukit.errors import DataError


def test_the_thresholding_benchmark_checks_its_answer(monkeypatch):
    monkeypatch.setattr(svt, "SHAPES", ((300, 20), (100, 33)))
    rows = list(bench.find("thresholding")(Setting(device.resolve("cpu"), scale=0.02)))
    assert [row.what for row in rows] == ["singular-value thresholding", "the loop over numpy.linalg.svd"] * 4
    assert rows[0].shape == "20 x 20 x 6" and "nearly low-rank" in rows[2].note and "error" in rows[0].note
    X, lam = svt.slices(5, 10, "Gaussian")
    assert svt.check(X, lam, svt.expected(X, lam)) < 1e-12
    with pytest.raises(DataError, match="off by"):
        svt.check(X, lam, np.zeros_like(X))
