"""The estimators on a real GPU against the CPU, in accuracy and bits."""

import contextlib

import numpy as np
import pytest

from factorization.inputs import bias_predictor, make, planted, same_state
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization import run as begin

pytestmark = pytest.mark.gpu

from gpukit._cuda import cuda
from gpukit.factorization import cpu, gpu
from gpukit.factorization.solvers.sgd import stream_training


@pytest.mark.parametrize("precision", ["auto", "half"])
@pytest.mark.parametrize("model", [MatrixFactorization, LSHMF])
def test_the_estimators_on_a_gpu(model, precision, tmp_path, monkeypatch):
    for name in ("GRAIN", "MOST_BLOCKS"):  # the same strata on both
        monkeypatch.setattr(gpu, name, getattr(cpu, name))
    train, test = planted(300, 1500, 0.1, seed=2).split(0.1, 0)
    mean, b, b_hat = bias_predictor(train)
    bias_rmse = np.sqrt(np.mean((mean + b[test.users] + b_hat[test.items] - test.values) ** 2))
    fitted = make(model, deterministic=True, n_epochs=12, device="cuda").fit(train)
    same = make(model, deterministic=True, n_epochs=12, device="cuda").fit(train)
    host = make(model, n_epochs=12, deterministic=True).fit(train)
    assert fitted.device_ != host.device_ and same_state(fitted, same)
    np.testing.assert_array_equal(fitted.neighbors_, host.neighbors_)
    np.testing.assert_allclose(fitted.predict(test), host.predict(test), atol=2e-3)
    assert fitted.score(test) == pytest.approx(host.score(test), abs=1e-4)
    racy = make(model, n_epochs=12, device="cuda", precision=precision).fit(train)
    assert -racy.score(test) < bias_rmse and racy.score(test) == pytest.approx(host.score(test), rel=0.05)
    fitted.save(tmp_path / "model")
    loaded = model.load(tmp_path / "model")
    loaded.device = "cpu"
    np.testing.assert_allclose(loaded.predict(test), fitted.predict(test), atol=1e-4)
    for n in (10, 1500):  # more than the 1,024 of the selection kernel
        ids, scores = fitted.recommend(n=n)
        expected = loaded.recommend(n=n)
        np.testing.assert_allclose(scores, expected[1], atol=1e-3)
        assert (ids == expected[0]).mean() > 0.99


@pytest.mark.parametrize("n_factors", [4, 64, 192])
def test_a_pair_without_other_clicks_vanishes(n_factors):
    """Its two rows shrink each other in each epoch, to numbers whose squares are subnormal in single precision."""
    users, items = np.repeat(np.arange(420), 5), np.random.default_rng(0).integers(0, 400, 2100)
    clicks = np.append(users, 420), np.append(items, 400)
    given = {"solver": "ials", "feedback": "implicit", "n_factors": n_factors, "n_epochs": 24}
    given |= {"regularization": 0.1, "unobserved_weight": 0.1}
    fitted = [MatrixFactorization(**given, device=device).fit(clicks) for device in ("cpu", "cuda")]
    assert np.abs(fitted[0].user_factors_[420]).max() < 1e-19 < np.abs(fitted[0].user_factors_[0]).max()
    np.testing.assert_allclose(fitted[1].predict(clicks), fitted[0].predict(clicks), atol=1e-4)


@pytest.mark.parametrize("model", [MatrixFactorization, LSHMF])
def test_streamed_ratings(model, monkeypatch):
    """Blocks that travel train as well as resident ratings."""
    train, test = planted(300, 1500, 0.1, seed=2).split(0.1, 0)
    resident = make(model, n_epochs=12, device="cuda").fit(train)
    monkeypatch.setattr(begin, "fitting_layout", lambda *given: (begin.choose_layout(*given)[0], True))
    monkeypatch.setattr(stream_training, "kept_blocks", lambda blocks, *others: min(3, blocks - 1))
    with pytest.warns(UserWarning, match="stream from host memory"):
        streamed = make(model, n_epochs=12, device="cuda").fit(train)
    assert streamed.score(test) == pytest.approx(resident.score(test), rel=0.05)


def device_arrays():
    """Return {library: function that copies a numpy array to the GPU} of installed libraries."""
    found = {"numba": cuda.to_device}
    with contextlib.suppress(ImportError):
        import cupy

        found["cupy"] = cupy.asarray
    with contextlib.suppress(ImportError):
        import torch

        found["torch"] = lambda array: torch.from_numpy(array).to("cuda")
    return found


@pytest.mark.parametrize("ids", [np.int32, np.int64])
@pytest.mark.parametrize("values", [np.float32, np.float64])
@pytest.mark.parametrize("model", [MatrixFactorization, LSHMF])
def test_ratings_that_lie_there_are_not_copied(model, values, ids, monkeypatch):
    table = planted(300, 1500, 0.1, seed=2)
    triple = (7 * table.users - 11).astype(ids), table.items.astype(ids), np.round(table.values).astype(values)
    named = {"n_factors": 32, "n_epochs": 3, "regularization": 0.02, "deterministic": True, "device": "cuda"}
    if model is LSHMF:
        named["n_neighbors"] = 8
    expected = model(**named).fit(triple[:2], triple[2])

    def refused(values):
        raise AssertionError("copied to the host")

    monkeypatch.setattr("gpukit.base.arrays.to_host", refused)
    for library, put in device_arrays().items():
        held = tuple(map(put, triple))
        pairs = put(np.ascontiguousarray(np.column_stack(triple[:2])))
        for X, y in ((held, None), (held[:2], held[2]), (pairs, held[2])):
            assert same_state(model(**named).fit(X, y), expected), library
        for one, given in zip(held, triple):
            np.testing.assert_array_equal(cuda.as_cuda_array(one).copy_to_host(), given)  # nothing is written there
