"""The Fourier basis is computed on first use."""

import numpy as np
import pytest
from scipy import sparse

from gpukit import GraphImputer, load_model
from gpukit.errors import ParameterError
from gpukit.graphs import basis as bases
from gpukit.imputation.spectral import choose as spectral

SIDE, T = 12, 24


def grid(side):
    """Return the csr adjacency of a square grid."""
    path = sparse.diags_array([np.ones(side - 1)] * 2, offsets=[-1, 1])
    unit = sparse.eye_array(side)
    return sparse.csr_array(sparse.kron(path, unit) + sparse.kron(unit, path))


def waves(side):
    """(N, T) float64, smooth on a grid and in time, with noise."""
    x = np.linspace(0, 3, side)
    field = (np.sin(x)[:, None] * np.cos(x)[None, :]).ravel()
    noise = 0.05 * np.random.default_rng(0).normal(size=(side * side, T))
    return field[:, None] * np.sin(np.arange(T) / 4) + noise


@pytest.fixture
def made(monkeypatch, tmp_path):
    """Record the computed bases: [(N, K)]."""
    monkeypatch.setattr(bases, "cache_folder", lambda: tmp_path / "bases")
    found, run = [], bases.fourier_basis

    def counted(adjacency, size, *rest, **options):
        found.append((adjacency.shape[0], size))
        return run(adjacency, size, *rest, **options)

    monkeypatch.setattr(bases, "fourier_basis", counted)
    return found


def holes(truth, share=0.2):
    """Return (the tensor with missing entries, their mask)."""
    hidden = np.random.default_rng(1).random(truth.shape) < share
    return np.where(hidden, np.nan, truth), hidden


@pytest.mark.slow
@pytest.mark.parametrize("method", ["interpolation", "vertex-mean", "smoothness", "local", "kriging"])
def test_methods_that_need_none(method, made, tmp_path):
    tensor, hidden = holes(waves(SIDE))
    tensor[5] = np.nan
    model = GraphImputer(method=method, device="cpu").fit(grid(SIDE), tensor)
    assert not made and "basis" not in model.stages_ and np.isfinite(model.completed_).all()
    model.save(tmp_path / "m.gpukit")
    again = load_model(tmp_path / "m.gpukit").set_params(device="cpu")
    np.testing.assert_array_equal(again.transform(tensor), model.transform(tensor))
    assert not made
    np.testing.assert_array_equal(again.confidence_, model.confidence_)
    assert made == [(SIDE**2, SIDE**2)] * 2 and again.confidence_[5] < again.confidence_[6] <= 1.0


@pytest.mark.slow
def test_a_graph_too_large_for_the_whole_basis_is_filled_in(made, monkeypatch):
    monkeypatch.setattr(spectral, "MOST_VERTICES", SIDE**2 - 1)
    monkeypatch.setattr(bases, "LARGEST_DENSE", SIDE**2 - 1)
    monkeypatch.setattr(bases, "SMALL", 0)
    truth = waves(SIDE)
    tensor, hidden = holes(truth)
    model = GraphImputer(device="cpu").fit(grid(SIDE), tensor)
    assert not made and "spectral" not in {row.name for row in model.report_}
    assert any("basis_size" in note for note in model.notes_)
    assert np.abs(model.completed_ - truth)[hidden].mean() < 0.1
    with pytest.raises(ParameterError, match=r"144 vertices .* --basis-size K"):
        _ = model.confidence_
    with pytest.raises(ParameterError, match="144 vertices"):
        GraphImputer(method="spectral", device="cpu").fit(grid(SIDE), tensor)
    part = GraphImputer(basis_size=20, device="cpu").fit(grid(SIDE), tensor)
    assert made[-1] == (SIDE**2, 20) and "spectral" in {row.name for row in part.report_}
    assert not any("basis_size" in note for note in part.notes_)


@pytest.mark.slow
def test_the_file_of_a_model_has_a_basis_only_where_it_serves(tmp_path):
    tensor, _ = holes(waves(SIDE))
    sizes = {}
    for method in ("interpolation", "spectral"):
        path = tmp_path / f"{method}.gpukit"
        GraphImputer(method=method, device="cpu").fit(grid(SIDE), tensor).save(path)
        sizes[method] = path.stat().st_size
    assert sizes["spectral"] - sizes["interpolation"] > 0.9 * 8 * SIDE**4


@pytest.mark.parametrize("method", ["auto", "interpolation"])
def test_complete_data_need_none_to_be_kept(method, made, monkeypatch, tmp_path):
    truth = waves(SIDE)
    model = GraphImputer(method=method, device="cpu").fit(grid(SIDE), truth)
    monkeypatch.setattr(bases, "LARGEST_DENSE", SIDE**2 - 1)
    model.save(tmp_path / "m.gpukit")
    again = load_model(tmp_path / "m.gpukit").set_params(device="cpu")
    again.save(tmp_path / "n.gpukit")
    assert not made
    np.testing.assert_array_equal(load_model(tmp_path / "n.gpukit").completed_, truth)
    monkeypatch.setattr(bases, "LARGEST_DENSE", SIDE**2)
    tensor, _ = holes(truth)
    np.testing.assert_array_equal(again.transform(tensor), model.transform(tensor))


def test_complete_data_are_copied_without_a_basis(made):
    truth = waves(SIDE)
    model = GraphImputer(method="interpolation", device="cpu").fit(grid(SIDE), holes(truth)[0])
    completed = model.transform(truth)
    np.testing.assert_array_equal(completed, truth)
    assert not np.shares_memory(completed, truth) and not made
