"""Generated graph tensors: low rank in the spectral domain, shapes of the graphs, missing values, the seed."""

import numpy as np
import pytest
from scipy.sparse import csgraph

from gpukit.errors import DataError, ParameterError
from gpukit.graphs import synth, synth_graph
from gpukit.graphs.basis import fourier_basis


@pytest.fixture(autouse=True)
def folder(tmp_path_factory, monkeypatch):
    """Bases of these tests are in a separate folder."""
    folder = tmp_path_factory.getbasetemp() / "bases"
    monkeypatch.setattr("gpukit.graphs.basis.cache_folder", lambda: folder)


SMALL = dict(vertices=60, shape=(8, 6), rank=2)


def edges_of(adjacency):
    return adjacency.nnz // 2


@pytest.mark.parametrize("dtype, rest", [("float64", 1e-12), ("float32", 1e-5)])
def test_every_spectral_slice_has_the_rank(dtype, rest):
    made = synth_graph(**SMALL, dtype=dtype)
    assert made.truth.dtype == made.tensor.dtype == dtype and made.truth.shape == (60, 8, 6)
    U = fourier_basis(made.adjacency).vectors
    spectrum = np.linalg.svd(np.tensordot(U.T, made.truth.astype(float), 1), compute_uv=False)
    assert (spectrum[:, 2:] < rest * spectrum[:, :1]).all() and (spectrum[:, 1] > 1e-3 * spectrum[:, 0]).all()


def test_spectral_slices_are_products_of_gaussians():
    """The entries of such a product have mean 0 and variance r; slices and factors are independent."""
    made = synth_graph(vertices=200, shape=(10, 10), rank=4)
    spectral = np.tensordot(fourier_basis(made.adjacency).vectors.T, made.truth, 1)
    assert abs(spectral.mean()) < 0.05 and abs(spectral.var() / 4 - 1) < 0.05
    flat = spectral.reshape(200, -1)
    assert np.abs(np.corrcoef(flat)[np.triu_indices(200, 1)]).mean() < 0.15


def test_whole_slices_are_missing():
    made = synth_graph(**SMALL, missing=0.3)
    assert made.mask.shape == (60,) and np.count_nonzero(~made.mask) == 18
    assert (made.tensor[~made.mask] == 0).all() and np.array_equal(made.tensor[made.mask], made.truth[made.mask])
    assert made.vertices is None and made.truth.all()
    assert synth_graph(**SMALL, missing=0).mask.all() and synth_graph(**SMALL, missing=1).mask.sum() == 1


def test_single_entries_are_missing():
    made = synth_graph(vertices=100, shape=(20, 10), rank=2, missing=0.3, entries=True)
    assert made.mask.shape == made.tensor.shape and abs(made.missing_share - 0.3) < 0.015
    assert np.array_equal(made.tensor, np.where(made.mask, made.truth, 0))
    by_vertex = made.mask.mean(axis=(1, 2))
    assert by_vertex.std() < 0.05 and not np.array_equal(made.mask[0], made.mask[1])
    assert synth_graph(**SMALL, missing=1, entries=True).mask.sum() == 1


def test_noise_is_a_share_of_the_root_mean_square():
    clean, made = (synth_graph(vertices=200, shape=(10, 10), rank=3, noise=noise) for noise in (0.0, 0.1))
    assert np.array_equal(clean.truth, made.truth) and np.array_equal(clean.mask, made.mask)
    apart = (made.tensor - made.truth)[made.mask]
    assert abs(apart.std() / (0.1 * made.truth.std()) - 1) < 0.05 and (made.tensor[~made.mask] == 0).all()


def test_a_seed_is_a_promise():
    first, again, other = (synth_graph(**SMALL, entries=True, noise=0.1, seed=seed) for seed in (5, 5, 6))
    for one, two, three in zip(first[1:], again[1:], other[1:], strict=True):
        assert (one is None) or (np.array_equal(one, two) and not np.array_equal(one, three))
    assert (first.adjacency != again.adjacency).nnz == 0 and (first.adjacency != other.adjacency).nnz > 0
    here, there = (synth_graph(**SMALL | {"vertices": None}, adjacency=first.adjacency, seed=seed) for seed in (5, 6))
    assert np.array_equal(here.truth, first.truth) and np.abs(here.truth - there.truth).mean() > 1
    assert (synth_graph(**SMALL, seed=5).adjacency != first.adjacency).nnz == 0  # the graph has its own stream


def test_random_graphs():
    adjacency = synth._graph("random", None, 0)
    degrees = adjacency.sum(axis=1)
    assert adjacency.shape == (400, 400) and edges_of(adjacency) == 4000 and set(adjacency.data) == {1.0}
    assert 5 <= degrees.min() and degrees.max() < 45 and 12 < degrees.var() < 28  # about binomial


@pytest.mark.parametrize("count, edges", [(2, 1), (3, 1), (10, 22), (100, 1000), (3000, 30000)])
def test_edges_of_random_graphs(count, edges):
    found = synth.random_edges(count, np.random.default_rng(0))
    assert found.shape == (edges, 2) and (found[:, 0] < found[:, 1]).all() and found.min() >= 0
    assert found.max() < count and len(np.unique(found, axis=0)) == edges


def test_pairs_are_counted_right():
    i, j = np.tril_indices(300, -1)
    assert np.array_equal(synth._pairs(np.arange(len(i))), np.column_stack((j, i)))
    last = 10**6 * (10**6 - 1) // 2 - 1
    assert synth._pairs(np.array([last, last + 1])).tolist() == [[10**6 - 2, 10**6 - 1], [0, 10**6]]


def test_ego_facebooks_shape():
    """Its exact numbers of vertices and edges; approximate degrees and communities: 1, 25, 1,045; 75 leaves."""
    edges = synth.ego_edges(4039, np.random.default_rng([0, 0]))
    degrees = np.bincount(edges.ravel())
    assert edges.shape == (88234, 2) and len(np.unique(np.sort(edges, axis=1), axis=0)) == 88234
    assert len(degrees) == 4039 and degrees.min() == 1 and 20 <= np.median(degrees) <= 30
    assert 950 < degrees.max() < 1100 and 40 < np.count_nonzero(degrees == 1) < 110
    assert np.count_nonzero(degrees > 600) == 3
    apart = np.abs(np.diff(edges, axis=1))
    assert np.percentile(apart, 90) < 1000 and np.median(apart) < 150  # of one community, most of one circle
    assert len(synth.ego_edges(100, np.random.default_rng(0))) == 433  # not every pair of a small one


@pytest.mark.parametrize("count", [2, 5, 30, 500, 4040, 5000])
def test_ego_graphs_of_any_size_are_connected(count):
    from scipy import sparse

    edges = synth.ego_edges(count, np.random.default_rng(1))
    graph = sparse.coo_array((np.ones(len(edges)), edges.T), shape=(count, count))
    assert csgraph.connected_components(graph, directed=False)[0] == 1 and (edges[:, 0] != edges[:, 1]).all()
    assert len(np.unique(np.sort(edges, axis=1), axis=0)) == len(edges)
    assert count < 400 or abs(2 * len(edges) / count - 43.7) < 12


def test_a_graph_that_is_given():
    star = [(0, i) for i in range(1, 9)]
    made = synth_graph(shape=(3, 3), rank=1, adjacency=star)
    assert made.tensor.shape == (9, 3, 3) and made.adjacency.sum(axis=1)[0] == 8
    with pytest.raises(ParameterError, match="vertices=5 is for generated graphs; the given one has 9"):
        synth_graph(shape=(3, 3), rank=1, adjacency=star, vertices=5)
    with pytest.raises(DataError, match="no edges"):
        synth_graph(shape=(3, 3), rank=1, adjacency=np.zeros((4, 4)))


@pytest.mark.parametrize(
    "changes, words",
    [
        (dict(like="facebook"), "like must be one of"),
        (dict(vertices=1), "vertices must be"),
        (dict(rank=7), "rank must be at most the smaller side of a slice, 6; got 7"),
        (dict(rank=0), "rank must be"),
        (dict(shape=(0, 6)), "m of shape must be"),
        (dict(shape=8), "shape must be"),
        (dict(shape=(8, 6, 2)), "shape must be"),
        (dict(missing=1.1), "missing must be"),
        (dict(noise=-1), "noise must be"),
        (dict(seed=-1), "seed must be"),
        (dict(dtype="int8"), "dtype must be"),
    ],
)
def test_refused(changes, words):
    with pytest.raises(ParameterError, match=words):
        synth_graph(**{**SMALL, **changes})
