"""The benchmark of the thresholding."""

import numpy as np
import pytest

from gpukit import bench, device
from gpukit.bench import Conditions
from gpukit.bench import sorting as svt
from gpukit.errors import DataError


def test_the_thresholding_benchmark_checks_its_result(monkeypatch):
    monkeypatch.setattr(svt, "SLICES", {20: 300, 33: 100})
    rows = list(bench.find("thresholding")(Conditions(device.resolve("cpu"), scale=0.02)))
    assert [row.what for row in rows] == [
        f"{method}, {kind}"
        for kind in svt.KINDS
        for method in ("singular-value thresholding", "the loop over numpy.linalg.svd")
    ] * 2
    assert rows[0].shape == "20 x 20 x 6" and rows[2].note.startswith("error ")
    assert len(rows[0].samples) == 5 and min(rows[0].samples) > 0
    X, lam = svt.make_slices(5, 10, "Gaussian")
    assert svt.check_slices(X, lam, svt.lapack_result(X, lam)) < 1e-12
    with pytest.raises(DataError, match="slices has a relative error"):
        svt.check_slices(X, lam, np.zeros_like(X))


@pytest.mark.kernel
def test_on_a_gpu_prepared_launches_are_timed(monkeypatch):
    monkeypatch.setattr(svt, "SLICES", {4: 3})
    monkeypatch.setattr(svt, "rivals", lambda *_: [])
    monkeypatch.setattr(svt, "gpu_milliseconds", lambda run, repeat: [run() or 1.0] * repeat)
    rows = list(svt.thresholding(Conditions(device.Device("cuda", 0, "a GPU", (9, 0)))))
    assert [row.what for row in rows] == [f"singular-value thresholding, {kind}" for kind in svt.KINDS]


def test_a_rival_that_fails_has_a_note(monkeypatch):
    monkeypatch.setattr(svt, "SLICES", {4: 3})
    monkeypatch.setattr(svt, "rivals", lambda *_: [("another", [np.nan])])
    rows = [row for row in svt.thresholding(Conditions(device.resolve("cpu"))) if row.what.startswith("another")]
    assert [row.note for row in rows] == ["LinAlgError: did not converge"] * 2


def test_singular_values_of_slices():
    X, lam = svt.make_slices(6, 20, "nearly low-rank")
    S = np.linalg.svd(X, compute_uv=False)
    assert (S[:, 4] > 1).all() and (S[:, 5] < 0.02).all() and X.dtype == lam.dtype == np.float32
    assert lam[0] == pytest.approx(0.05 * S[:4, 0].mean(), rel=1e-5)
