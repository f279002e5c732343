"""The estimators on a real GPU: against the CPU where the schedule has no conflicts, learning as well where it has."""

import numpy as np
import pytest

from factorization.inputs import bias_predictor, make, planted, same_state
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization.prepare import cpu as cpu_steps

pytestmark = pytest.mark.gpu

from gpukit.factorization.prepare import gpu as gpu_steps


def one_schedule(monkeypatch):
    """Deterministic training takes the same steps on both devices: as many blocks, the same walk."""
    for steps in (cpu_steps, gpu_steps):
        monkeypatch.setattr(steps, "GRAIN", 100)
        monkeypatch.setattr(steps, "MOST_BLOCKS", 16)
    monkeypatch.setattr(MatrixFactorization, "walk", "items")


@pytest.mark.parametrize("precision, close", [("auto", 2e-3), ("half", 0.05)])
@pytest.mark.parametrize("model", [MatrixFactorization, LSHMF])
def test_the_estimators_on_a_gpu(model, precision, close, tmp_path, monkeypatch):
    one_schedule(monkeypatch)
    train, test = planted(300, 1500, 0.1, seed=2).split(0.1, 0)
    mean, b, b_hat = bias_predictor(train)
    bias_rmse = np.sqrt(np.mean((mean + b[test.users] + b_hat[test.items] - test.values) ** 2))
    options = {"n_epochs": 12, "device": "cuda", "precision": precision}
    fitted, same = (make(model, deterministic=True, **options).fit(train) for _ in range(2))
    host = make(model, n_epochs=12, deterministic=True).fit(train)
    assert fitted.device_ != host.device_ and same_state(fitted, same)
    np.testing.assert_array_equal(fitted.neighbors_, host.neighbors_)
    np.testing.assert_allclose(fitted.predict(test), host.predict(test), atol=close)
    assert fitted.score(test) == pytest.approx(host.score(test), abs=close / 20)
    racy = make(model, **options).fit(train)
    assert -racy.score(test) < bias_rmse and racy.score(test) == pytest.approx(host.score(test), rel=0.05)
    fitted.save(tmp_path / "model")
    loaded = model.load(tmp_path / "model")
    loaded.device = "cpu"
    np.testing.assert_allclose(loaded.predict(test), fitted.predict(test), atol=1e-4)
    for n in (10, 1500):  # more than the 1,024 that the selection kernel takes
        ids, scores = fitted.recommend(n=n)
        expected = loaded.recommend(n=n)
        np.testing.assert_allclose(scores, expected[1], atol=1e-3)
        assert (ids == expected[0]).mean() > 0.99
