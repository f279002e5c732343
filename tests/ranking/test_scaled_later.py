"""Fourier features on a GPU that scales its own copy of the documents, against scaling on the host."""

import numpy as np
import pytest
from support import thinned

pytestmark = [pytest.mark.kernel, pytest.mark.simulator, pytest.mark.filterwarnings("ignore")]

from gpukit.device import Device
from gpukit.ranking import RankSVM, feature_map, gpu
from gpukit.ranking.solvers import choose
from ranking import data, sessions

GPU = Device("cuda", 0, "a GPU", (9, 0))


@pytest.fixture(autouse=True)
def a_small_gpu(monkeypatch):
    """numpy takes the place of cupy in the simulator."""
    monkeypatch.setattr(gpu, "library", lambda: np)
    monkeypatch.setattr(gpu, "walk_blocks", lambda: 2)
    sessions.small_blocks(monkeypatch)
    monkeypatch.setattr(gpu, "EXPANDED", 300)
    monkeypatch.setattr(choose, "has_cupy", lambda: True)
    monkeypatch.setattr(feature_map, "WAVES", 7)
    monkeypatch.setattr("gpukit.device.memory._free_on_gpu", lambda: 1 << 40)
    monkeypatch.setattr("gpukit.device.gpu", lambda index: GPU)


def documents(dtype):
    """Return (X, y, qid) with features far from 0, one that is constant and one that is constant within queries."""
    at = data.make((12, 1, 30, 7))
    X = at.X * np.array([1.0, 1e3, 1e-3, 5.0, 1.0]) + np.array([0.0, 1e4, 7.0, -3.0, 2.0])
    X[:, 3], X[:, 4] = 7.5, at.qid
    return X.astype(dtype), at.y, at.qid


@pytest.mark.parametrize("scale, dtype", thinned(["deviation", "minmax", "none"], [np.float32, np.float64], share=2))
def test_as_scaled_on_the_host(scale, dtype):
    X, y, qid = documents(dtype)
    given, settings = X.copy(), {"features": "fourier", "scale": scale, "max_iter": 2}
    there, here = (RankSVM(1e-2, device=device, **settings).prepare(X, y, qid) for device in (GPU, "cpu"))
    np.testing.assert_array_equal(X, given)
    assert there.problem.X.X is X
    np.testing.assert_array_equal(np.asarray(there.session.matrix.X), here.problem.X.X)
    rounding = 1e-12 if dtype == np.float64 else 1e-6
    np.testing.assert_allclose(there.map.directions, here.map.directions, rtol=rounding)
    np.testing.assert_allclose(there.size.largest, here.size.largest, rtol=rounding)
    first, second = (run.train(1e-2) for run in (there, here))
    assert first.objective == pytest.approx(second.objective, rel=1e-10 if dtype == np.float64 else 1e-4)
    assert there.session.matrix.passes < 3 * len(first.history) + sum(step["cg_steps"] for step in first.history)
