"""Confidence against plain loops, known graphs and actual errors."""

import numpy as np
import pytest

from gpukit.device import resolve
from gpukit.graphs.adjacency import as_adjacency
from gpukit.graphs.basis import fourier_basis
from gpukit.imputation.spectral.path import Options
from gpukit.imputation.spectral.run import Place, Setting, impute, missing_shares, slice_scores, vertex_confidence
from imputation import naive_baselines as naive

N = 60


def parts(seed=0):
    """Return a graph of 48 connected vertices and four separate triangles."""
    rng = np.random.default_rng(seed)
    A = np.zeros((N, N))
    A[:48, :48] = np.triu(rng.random((48, 48)) < 0.15, 1)
    A[np.arange(47), np.arange(1, 48)] = 1.0
    for first in range(48, N, 3):
        A[first : first + 2, first + 1 : first + 3] = np.triu(np.ones((2, 2)))
    return fourier_basis(as_adjacency(np.maximum(A, A.T)), cache=False)


@pytest.mark.parametrize("size", [N, 20])
@pytest.mark.parametrize("shape", [(N,), (N, 3, 4)])
def test_it_is_the_formula(shape, size):
    basis = parts()
    basis = basis._replace(values=basis.values[:size], vectors=basis.vectors[:, :size])
    mask = np.random.default_rng(1).random(shape) > 0.3
    share = 1.0 - naive.whole(mask, (N, 3, 4)).reshape(N, -1).mean(axis=1)
    scores = [sum(share[i] * basis.vectors[i, k] ** 2 for i in range(N)) for k in range(size)]
    np.testing.assert_allclose(slice_scores(basis, missing_shares(mask)), scores, rtol=1e-12)
    for i, found in enumerate(vertex_confidence(basis, missing_shares(mask))):
        kept = sum(basis.vectors[i, k] ** 2 * (1.0 - scores[k] ** 16) for k in range(size))
        assert found == pytest.approx(1.0 - share[i] * (1.0 - kept), abs=1e-12)


def test_a_part_that_is_missing_whole_has_none_and_the_observed_have_all():
    mask = np.ones(N, bool)
    mask[51:57], mask[5] = False, False
    found = vertex_confidence(parts(), missing_shares(mask))
    assert (found[mask] == 1.0).all()
    assert 0.99 < found[5] <= 1.0
    assert (found[51:57] < 0.01).all()


def test_more_missing_is_less_confidence():
    mask = np.ones(N, bool)
    mask[[5, 48, 49]] = False
    before = vertex_confidence(parts(), missing_shares(mask))
    mask[50] = False
    after = vertex_confidence(parts(), missing_shares(mask))
    assert (after <= before + 1e-12).all() and after[48] < before[48] - 0.1


def test_the_errors_are_where_there_is_no_confidence():
    """Rank 1 in every slice, with two triangles completely missing.

    The other missing values are recovered.
    """
    rng, basis = np.random.default_rng(2), parts()
    spectral = rng.normal(size=(N, 8, 1)) @ rng.normal(size=(N, 1, 8))
    truth = np.einsum("ik,kab->iab", basis.vectors, spectral)
    mask = np.ones(N, bool)
    mask[[3, 17, 30, 41, 48, 49, 50, 54, 55, 56]] = False
    place = Place(basis, resolve("cpu"), np.dtype(np.float64))
    setting = Setting("slice", 1.0, "none", Options(iterations=60))
    estimate = impute(place, setting, np.where(mask[:, None, None], truth, 0.0), mask).estimate
    error = np.linalg.norm(estimate - truth[~mask], axis=(1, 2)) / np.linalg.norm(truth[~mask], axis=(1, 2))
    found = vertex_confidence(basis, missing_shares(mask))[~mask]
    assert (error[found < 0.5] > 0.5).all() and (found < 0.5).sum() == 6
    assert (error[found > 0.5] < 0.05).all()
