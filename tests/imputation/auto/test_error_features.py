"""Features of errors."""

import numpy as np
import pytest

from gpukit import GraphImputer
from gpukit.imputation.auto.uncertainty import FEATURES, compute_features

LINE, ODD = 4, 5  # departures from linear interpolation, and from the neighbours
N, T = 6, 100
RING = np.roll(np.eye(N), 1, axis=1) + np.roll(np.eye(N), -1, axis=1)


def features_of(values, ordered=True):
    """Return (T, FEATURES) of vertex 0 of a ring, which is not observed."""
    seen = np.ones((N, T), bool)
    seen[0] = False
    problem = GraphImputer(device="cpu").prepare(RING, np.where(seen, values, np.nan)).problem()
    problem = problem._replace(at=np.arange(T) if ordered else None)
    field = np.where(seen, values, values[1:].mean())
    features = compute_features(problem, field, [field[~seen]], ~seen)
    assert features.shape == (T, FEATURES) and np.isfinite(features).all()
    return features


def test_neighbours_that_bend_say_so():
    values = np.tile(np.linspace(0.0, 50.0, T), (N, 1)) + 0.01 * np.random.default_rng(0).normal(size=(N, T))
    values[[1, 5], 30:40] += np.tile([2.0, -2.0], 5)
    features = features_of(values)[:, LINE]
    assert features[32:38].min() > np.delete(features, np.arange(25, 45)).max() + 2.0


@pytest.mark.parametrize("ordered", [True, False])
def test_neighbours_that_differ_from_theirs_say_so_and_a_constant_difference_says_nothing(ordered):
    rng = np.random.default_rng(0)
    offsets, values = rng.normal(size=(N, 1)), 0.1 * rng.normal(size=(N, T))
    values[1, 50] += 3.0
    features, others = (
        features_of(offsets + values, ordered)[:, ODD],
        features_of(10 * offsets + values, ordered)[:, ODD],
    )
    assert features[50] > np.delete(features, np.arange(45, 56)).max() + 0.5
    np.testing.assert_allclose(features, others, atol=0.01)


def test_constants_have_signs():
    features_of(np.full((N, T), 3.0))


def test_a_run_leaves_its_data_as_they_were():
    """Missing values are filled in while features are computed, and are 0 again afterwards."""
    values = np.random.default_rng(0).normal(size=(N, T)).cumsum(axis=1)
    values[:, 30:35] = np.nan
    run = GraphImputer(method="interpolation", device="cpu").prepare(RING, values, times=np.arange(T))
    before = run.data.tensor.copy()
    run.fitted()
    np.testing.assert_array_equal(run.data.tensor, before)
