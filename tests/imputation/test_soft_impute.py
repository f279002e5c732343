"""Matrices of low rank: what soft_impute fills in against plain singular value decompositions."""

import numpy as np
import pytest

from gpukit.imputation.baselines import soft_impute


def case(n=30, m=50, rank=3, seed=0):
    """(truth, seen): of low rank, a little noise, a third missing."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, m)) + 0.05 * rng.normal(size=(n, m))
    return truth.astype(np.float32), rng.random((n, m)) > 0.3


def naive(known, seen, share, steps=500):
    """The paper's algorithm, until nothing changes."""
    Z, t = np.zeros(known.shape), share * np.linalg.svd(known, compute_uv=False)[0]
    for _ in range(steps):
        U, d, Vt = np.linalg.svd(np.where(seen, known, Z), full_matrices=False)
        Z = U * np.maximum(d - t, 0) @ Vt
    return Z


@pytest.mark.parametrize("whole", [512, 4])
@pytest.mark.parametrize("share", soft_impute.SHARES)
def test_it_ends_where_the_plain_algorithm_does(share, whole, monkeypatch):
    monkeypatch.setattr(soft_impute, "CHANGE", 1e-6)
    monkeypatch.setattr(soft_impute, "STEPS", 300)
    monkeypatch.setattr(soft_impute, "WHOLE", whole)
    truth, seen = case()
    known = np.where(seen, truth, 0)
    expected = naive(known.astype(float), seen, share)
    found = soft_impute.completed(known, seen, share)
    assert np.linalg.norm(found - expected) < 2e-4 * np.linalg.norm(expected)


@pytest.mark.parametrize("spare", [3, 10])
def test_the_largest_singular_values_are_those_of_all(spare, monkeypatch):
    monkeypatch.setattr(soft_impute, "WHOLE", 4)
    monkeypatch.setattr(soft_impute, "SPARE", spare)
    matrix = case(rank=12)[0]
    exact = np.linalg.svd(matrix, compute_uv=False)
    lower = soft_impute.Thresholding(0.1)
    for _ in range(8):  # from one step to the next they come nearer
        lowered = lower(matrix)
    np.testing.assert_allclose(lower.threshold, 0.1 * exact[0], rtol=0.02)
    left = np.maximum(exact - lower.threshold, 0)
    found = np.linalg.svd(lowered, compute_uv=False)
    np.testing.assert_allclose(found, left, atol=2e-3 * exact[0])


def test_nothing_seen_and_all_equal():
    nothing = np.zeros((3, 4), np.float32)
    assert (soft_impute.completed(nothing, nothing > 1, 0.1) == 0).all()
