"""RankSVM on a real GPU: the known minima, and the CPU's weights, for every layout of X and the levels."""

import numpy as np
import pytest
import scipy.sparse

from gpukit.ranking import RankSVM, gpu
from ranking.data import relative
from ranking.estimator.test_stopping import SCALES, documents
from ranking.test_mq2008 import KNOWN, MEANS, fit, measures, part

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("fold", KNOWN)
def test_the_known_minima(fold):
    model = fit(part(fold, "train"), device="cuda")
    assert "cuda" in model.device_ and model.solver_ == "scan"
    assert model.objective_ == pytest.approx(KNOWN[fold][0], rel=1e-8)
    assert 100 * measures(model, part(fold, "test"))["pa_ties"] == pytest.approx(KNOWN[fold][2], abs=0.01)


def test_letors_scores():
    found = [measures(fit(part(fold, "train"), device="cuda"), part(fold, "test")) for fold in KNOWN]
    for name, mean in MEANS.items():
        assert np.mean([one[name] for one in found]) == pytest.approx(mean, abs=5e-5)


@pytest.mark.parametrize("precondition", [True, False])
@pytest.mark.parametrize("solver", ["scan", "p-swx"])
@pytest.mark.parametrize("kind", ["float32", "float64", "sparse"])
@pytest.mark.parametrize("levels", [2, 5, 40])
def test_the_weights_of_the_cpu(levels, kind, solver, precondition):
    lengths = [1, 7, 33, 300, 64, 0, 2]
    noise = np.random.default_rng(levels)
    X = noise.normal(size=(sum(lengths), 13)) * (noise.random((sum(lengths), 13)) < 0.6)
    y = noise.integers(0, levels, len(X)) + 0.1 * X[:, 0]
    X = scipy.sparse.csr_matrix(X) if kind == "sparse" else X.astype(kind)
    y = np.digitize(y, np.quantile(y, np.arange(1, levels) / levels)).astype(float)
    there, here = (
        RankSVM(0.5, eps=1e-9, solver=solver, precondition=precondition, device=device).fit(X, y, group=lengths)
        for device in ("cuda", "cpu")
    )
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-11)
    assert relative(there.coef_, here.coef_) < 1e-6


@pytest.mark.parametrize("precondition", [True, False])
@pytest.mark.parametrize("kind", ["float32", "float64", "sparse", "wide"])
@pytest.mark.parametrize("scale", SCALES)
def test_the_units_of_features_do_not_matter(scale, kind, precondition):
    X, y, qid = documents(wide=1030 if kind == "wide" else 0, scale=scale)
    X = scipy.sparse.csr_array(X) if kind == "sparse" else X.astype("float32" if kind == "float32" else "float64")
    there, here = (
        RankSVM(1.0, scale="none", solver="scan", precondition=precondition, device=device).fit(X, y, qid)
        for device in ("cuda", "cpu")
    )
    assert there.converged_ and there.objective_ == pytest.approx(here.objective_, rel=1e-6)


def test_a_query_too_long_for_shared_memory_and_wide_data():
    noise = np.random.default_rng(0)
    for l, n in ((20_000, 5), (300, 1023), (300, 1500)):
        X, y = noise.normal(size=(l, n)), noise.integers(0, 2000, l).astype(float)
        there, here = (RankSVM(1e-6, eps=1e-8, solver="scan", device=d).fit(X, y, group=[l]) for d in ("cuda", "cpu"))
        assert there.objective_ == pytest.approx(here.objective_, rel=1e-10)


@pytest.mark.parametrize("precondition", [True, False])
@pytest.mark.parametrize("solver", ["scan", "p-swx"])
def test_training_again_gives_the_same_bits(solver, precondition):
    """The room is deterministic: with 70 features the covariance has diagonal and other tiles."""
    noise = np.random.default_rng(1)
    X, y, lengths = noise.normal(size=(900, 70)).astype(np.float32), noise.integers(0, 5, 900), [100] * 9
    first, second = (
        RankSVM(0.5, eps=1e-9, solver=solver, precondition=precondition, device="cuda").fit(X, y, group=lengths)
        for _ in range(2)
    )
    assert first.coef_.tobytes() == second.coef_.tobytes() and first.history_ == second.history_


@pytest.mark.parametrize("features", ["thresholds", "fourier"])
@pytest.mark.parametrize("dtype, close", [("float64", 1e-9), ("float32", 1e-4)])
def test_feature_maps_as_on_the_cpu(features, dtype, close, monkeypatch):
    pytest.importorskip("cupy")
    monkeypatch.setattr(gpu, "EXPANDED", 1 << 17)  # several blocks
    noise = np.random.default_rng(3)
    X = noise.normal(size=(2_000, 7)).astype(dtype)
    y = np.digitize(X[:, 0] * X[:, 1] - X[:, 2] ** 2, (-2.0, -1.0, 0.0)).astype(float)
    settings = {"features": features, "scale": "deviation", "eps": 1e-9}
    there, here = (
        RankSVM(1e-3, device=device, **settings).fit(X, y, np.arange(2_000) // 40) for device in ("cuda", "cpu")
    )
    assert "cuda" in there.device_ and there.objective_ == pytest.approx(here.objective_, rel=close)
    np.testing.assert_allclose(there.predict(X), here.predict(X), rtol=0, atol=close * np.abs(here.predict(X)).max())
