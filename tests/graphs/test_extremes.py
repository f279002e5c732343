"""Numbers near the limits of float64: the same graph without a warning, or an error of one line."""

import warnings

import numpy as np
import pytest

from gpukit import GraphImputer, graph_from_coordinates, graph_from_distances
from gpukit.errors import DataError

N, T = 12, 30
RNG = np.random.default_rng(0)
PLACES = RNG.random((N, 2))
SERIES = np.where(RNG.random((N, T)) < 0.2, np.nan, np.cumsum(RNG.normal(size=(N, T)), axis=1))


@pytest.fixture(autouse=True)
def no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


@pytest.mark.parametrize("power", [1000, 500, -500, -1000])
def test_distances_of_any_size_make_one_graph(power):
    apart = np.abs(PLACES[:, None, 0] - PLACES[None, :, 0])
    found, usual = graph_from_distances(np.ldexp(apart, power)), graph_from_distances(apart)
    assert abs(found.adjacency - usual.adjacency).max() == 0 and found.adjacency.nnz == usual.adjacency.nnz


@pytest.mark.parametrize("power", [490, -500, -1000])
def test_coordinates_of_any_size_make_one_graph(power):
    found, usual = graph_from_coordinates(np.ldexp(PLACES, power)), graph_from_coordinates(PLACES)
    assert abs(found.adjacency - usual.adjacency).max() < 1e-12 and found.adjacency.nnz == usual.adjacency.nnz


@pytest.mark.slow
@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_weights_of_any_size_fill_in_alike(size):
    near = np.abs(np.subtract.outer(np.arange(N), np.arange(N))) == 1
    usual = GraphImputer(method="smoothness", device="cpu").fit(near * np.frexp(size)[0], SERIES).completed_
    np.testing.assert_allclose(
        GraphImputer(method="smoothness", device="cpu").fit(near * size, SERIES).completed_, usual, 1e-3
    )


@pytest.mark.slow
@pytest.mark.parametrize("method", ["kriging", "local", "smoothness", "spectral"])
def test_weights_of_all_sizes(method):
    near = np.abs(np.subtract.outer(np.arange(N), np.arange(N))) == 1
    weights = np.where(near, 1.0, 0.0)
    weights[0] *= 1e300
    weights[:, 0] = weights[0]
    series = SERIES.copy()
    series[3] = np.nan
    assert np.isfinite(GraphImputer(method=method, device="cpu").fit(weights, series).completed_).all()


@pytest.mark.parametrize("size", [1e300, 1e160, 1e-160, 1e-300])
def test_the_spectral_method_takes_values_of_any_size(size):
    near = np.abs(np.subtract.outer(np.arange(N), np.arange(N))) == 1
    series = SERIES.copy()
    series[3, 2:6] = np.nan
    usual, unusual = (GraphImputer(method="spectral", device="cpu").fit(near * 1.0, series * k) for k in (1.0, size))
    np.testing.assert_allclose(unusual.completed_ / size, usual.completed_, atol=1e-4)
    np.testing.assert_allclose(unusual.deviation_ / size, usual.deviation_, atol=1e-4)


@pytest.mark.parametrize("method", ["kriging", "auto"])
@pytest.mark.parametrize("size", [1e300, 1e160, 1e-160, 5e-324])
def test_values_of_no_usual_size_are_refused(method, size):
    near = np.abs(np.subtract.outer(np.arange(N), np.arange(N))) == 1
    with pytest.raises(DataError, match=r"^A value is .* use other units\.$"):
        GraphImputer(method=method, device="cpu").fit(near * 1.0, SERIES * size)
