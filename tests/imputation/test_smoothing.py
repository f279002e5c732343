"""The baselines against dense solves and plain loops."""

import numpy as np
import pytest

from gpukit.errors import ParameterError
from gpukit.graphs.adjacency import as_adjacency, laplacian, normalized_laplacian
from gpukit.imputation import smoothing as baselines
from imputation import naive_baselines as naive

SHAPE = 14, 3, 2
FORMS = {
    "combinatorial": (laplacian, naive.laplacian),
    "normalized": (normalized_laplacian, naive.normalized_laplacian),
}


def graph(isolated=True):
    """Return a weighted graph of 13 connected vertices and one more.

    The last vertex is isolated, or joined.
    """
    rng = np.random.default_rng(3)
    A = np.triu(rng.random((14, 14)) * (rng.random((14, 14)) < 0.25), 1)
    A[np.arange(13), np.arange(1, 14)] += 0.5
    if isolated:
        A[:, 13] = 0.0
    return A + A.T


def case(whole, seed=0):
    rng = np.random.default_rng(seed)
    mask = rng.random(SHAPE[0] if whole else SHAPE) > 0.35
    mask[:2] = True
    mask[13] = False
    return np.where(naive.whole(mask, SHAPE), rng.normal(size=SHAPE), 1e9), mask


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("tau", [1e-6, 0.1, 10.0])
@pytest.mark.parametrize("form", FORMS)
def test_tikhonov_is_the_dense_solution(form, tau, whole):
    fast, slow = FORMS[form]
    A, (tensor, mask) = graph(), case(whole)
    out = baselines.tikhonov(fast(as_adjacency(A)), tensor, mask, tau)
    np.testing.assert_allclose(out, naive.tikhonov(slow(A), tensor, mask, tau), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("whole", [True, False])
def test_a_small_tau_interpolates_harmonically(whole):
    A, (tensor, mask) = graph(isolated=False), case(whole)
    out = baselines.tikhonov(laplacian(as_adjacency(A)), tensor, mask, 1e-9)
    np.testing.assert_allclose(out, naive.harmonic(naive.laplacian(A), tensor, mask), rtol=1e-5, atol=1e-6)


def test_blocks_of_columns_and_a_start_change_nothing(monkeypatch):
    matrix, (tensor, mask) = laplacian(as_adjacency(graph(isolated=False))), case(False)
    whole = baselines.tikhonov(matrix, tensor, mask, 0.3)
    start = np.random.default_rng(5).normal(size=SHAPE)
    np.testing.assert_allclose(baselines.tikhonov(matrix, tensor, mask, 0.3, start), whole, rtol=1e-6, atol=1e-7)
    monkeypatch.setattr(baselines, "BLOCK_NUMBERS", 2 * SHAPE[0])
    np.testing.assert_allclose(baselines.tikhonov(matrix, tensor, mask, 0.3), whole, rtol=1e-6, atol=1e-7)


def test_a_column_that_nobody_observes_stays_zero():
    matrix, (tensor, mask) = laplacian(as_adjacency(graph())), case(False)
    mask[:, 1, 1] = False
    out = baselines.tikhonov(matrix, tensor, mask, 0.3, np.ones(SHAPE))
    assert (out[:, 1, 1] == 0).all() and (out[:, 0, 0] != 0).any()


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("iterations", [1, 40])
def test_feature_propagation_is_the_plain_loop(iterations, whole):
    A, (tensor, mask) = graph(), case(whole)
    out = baselines.feature_propagation(as_adjacency(A), tensor, mask, iterations)
    np.testing.assert_allclose(out, naive.feature_propagation(A, tensor, mask, iterations), rtol=1e-12, atol=1e-14)


def test_the_vertex_mean_is_by_entry():
    tensor, mask = case(False)
    out, seen = baselines.vertex_mean(tensor, mask), naive.whole(mask, SHAPE)
    mean = np.broadcast_to(naive.mean(tensor, mask, "entry"), SHAPE)
    assert (out[seen] == tensor[seen]).all()
    np.testing.assert_allclose(out[~seen], mean[~seen])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_baselines_keep_the_type_the_observed_values_and_the_input(dtype):
    tensor, mask = case(False)
    tensor = tensor.astype(dtype)
    before, seen, names = tensor.copy(), naive.whole(mask, SHAPE), []
    for name, setting, out in baselines.all_baselines(as_adjacency(graph()), tensor, mask):
        assert out.dtype == dtype and np.isfinite(out).all()
        assert (out[seen] == tensor[seen]).all()
        names.append((name, *setting.values()))
    assert (tensor == before).all()
    assert len(set(names)) == len(names) == 1 + 2 * (2 * len(baselines.TAUS) + 4)


def test_all_baselines_take_the_mean_off_and_put_it_back():
    """A constant far from zero: missing values do not shrink to zero."""
    A, (_, mask) = graph(), case(True)
    tensor = np.full(SHAPE, 50.0)
    for _, _, out in baselines.all_baselines(as_adjacency(A), tensor, mask):
        np.testing.assert_allclose(out, 50.0)


def test_a_tau_of_zero_is_refused():
    tensor, mask = case(True)
    with pytest.raises(ParameterError, match="tau must be a finite number, more than 0.0; got 0"):
        baselines.tikhonov(laplacian(as_adjacency(graph())), tensor, mask, 0)
