"""Item weights solved for on a GPU."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from factorization.solvers.ease import naive
from gpukit.device import resolve
from gpukit.factorization.constants import RULES
from gpukit.factorization.solvers import ease

pytestmark = pytest.mark.gpu


def clicks(shape, count, seed=0):
    """Return a random csr_array of ones."""
    rng = np.random.default_rng(seed)
    cells = rng.choice(shape[0] * shape[1], count, replace=False)
    return csr_array((np.ones(count, np.float32), np.divmod(cells, shape[1])), shape)


@pytest.mark.parametrize("shape, count", [((1, 2), 2), ((40, 7), 90), ((7, 40), 90), ((120, 40), 1500)])
@pytest.mark.parametrize("block", [1 << 28, 1 << 10])
def test_weights_are_those_of_the_definition(monkeypatch, shape, count, block):
    monkeypatch.setattr(ease, "BLOCK", block)
    X = clicks(shape, count)
    found = ease.solve_on_gpu(X, 3.0, resolve("cuda"))
    expected = naive.weights(X.toarray(), 3.0)
    assert found.dtype == np.float32 and not found.diagonal().any()
    assert np.abs(found - expected).max() <= 1e-5 * max(1.0, np.abs(expected).max())


def test_what_a_gpu_cannot_solve_is_left_to_the_cpu(monkeypatch):
    X = clicks((120, 40), 1500)
    monkeypatch.setattr(RULES, "inverse_error", 0.0)
    assert ease.solve_on_gpu(X, 3.0, resolve("cuda")) is None
    monkeypatch.setattr(ease, "free_memory", lambda device: 1 << 20)
    assert ease.solve_on_gpu(X, 3.0, resolve("cuda")) is None
